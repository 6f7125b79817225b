/** How far an account's usage is summed up. A settlement of an earlier day opens it again. */
export interface UsageClosingsTable {
  account_id: string
  /** Days before it are being summed up. */
  closing_until: string
  /** Days before it are summed up, in `usage_daily_totals` and `usage_hourly_totals`: what these say of later days is void. */
  closed_until: string
}
