/** A payment header, normalized from x402's three forms; the scheme-specific part is not parsed yet. */
export interface PaymentEnvelope {
  scheme: string
  /** CAIP-2 name, even if the client sent `base` or `solana`. */
  network: string
  /** Only version 2 states the accepted terms; the other forms leave both null. */
  asset: string | null
  payTo: string | null
  payload: unknown
}
