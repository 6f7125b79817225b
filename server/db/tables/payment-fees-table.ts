/** The most that settlements on a chain may have cost on a UTC day, reservations included. */
export interface PaymentFeesTable {
  network: string
  day: string
  /** In the chain's smallest unit: wei, lamports. */
  spent: string
}
