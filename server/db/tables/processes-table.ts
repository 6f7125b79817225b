/** Running server processes; holds of one whose heartbeat stopped are released by another. */
export interface ProcessesTable {
  process_id: string
  started_at: Date
  heartbeat_at: Date
}
