/** How far an account's usage is summed up. A settlement of an earlier day reopens that day. */
export interface UsageClosingsTable {
  account_id: string
  /** Days before it are being summed up. */
  closing_until: string
  /** Days before it are summed up in `usage_daily_totals` and `usage_hourly_totals`; totals of later days are void. */
  closed_until: string
}
