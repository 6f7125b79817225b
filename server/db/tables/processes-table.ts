/** Running server processes; when a heartbeat stops, another process releases the holds. */
export interface ProcessesTable {
  process_id: string
  started_at: Date
  heartbeat_at: Date
}
