/** A payment header in one form, whichever of x402's three it came in; the scheme's own part is still unread. */
export interface PaymentEnvelope {
  scheme: string
  /** CAIP-2 name, also where the client wrote `base` or `solana`. */
  network: string
  /** Version 2 alone names what it accepted; the other forms leave both out. */
  asset: string | null
  payTo: string | null
  payload: unknown
}
