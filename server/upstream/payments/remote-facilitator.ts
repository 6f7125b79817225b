import { HTTPFacilitatorClient } from '@x402/core/http'
import { type SettleResponse, SettleError, VerifyError } from '@x402/core/types'
import type { PaymentVerdict, PaymentWire, SettleOutcome } from '../../domain/payments/payment-network.ts'

/** A settlement may wait for the chain; what takes longer is left to the look-up by our own node. */
const TIMEOUT_MS = 30_000
/** Offers wait for what the facilitator says of itself. */
const TERMS_TIMEOUT_MS = 5_000
const REASON_CHARACTERS_MAX = 100
const TRANSACTION_ID = /^[0-9A-Za-z]{1,100}$/

type Wire = Parameters<HTTPFacilitatorClient['settle']>[0]
type Requirements = Parameters<HTTPFacilitatorClient['settle']>[1]

export interface RemoteSettlement {
  outcome: SettleOutcome
  /** The transaction that the facilitator names, also where it failed. */
  transactionId: string | null
}

/** A facilitator behind a URL. It is asked and never believed: only our own node says that a payment is on the chain. */
export class RemoteFacilitator {
  readonly #client: HTTPFacilitatorClient
  readonly #terms: HTTPFacilitatorClient
  readonly #network: string

  constructor(url: string, network: string) {
    this.#client = new HTTPFacilitatorClient({ url, timeoutMs: TIMEOUT_MS })
    this.#terms = new HTTPFacilitatorClient({ url, timeoutMs: TERMS_TIMEOUT_MS })
    this.#network = network
  }

  /** The facilitator's `extra` for scheme `exact` on this network. Fails when it does not serve it. */
  async extra(): Promise<Record<string, unknown>> {
    const { kinds } = await this.#terms.getSupported()
    const kind = kinds.find(({ x402Version, scheme, network }) => {
      return x402Version === 2 && scheme === 'exact' && network === this.#network
    })
    if (kind === undefined) throw new Error(`the facilitator does not settle scheme exact on ${this.#network}`)
    return kind.extra ?? {}
  }

  async verify(wire: PaymentWire): Promise<PaymentVerdict> {
    try {
      const { isValid, invalidReason } = await this.#client.verify(...stockForm(wire))
      return isValid ? { valid: true } : refusal(invalidReason)
    } catch (error) {
      if (error instanceof VerifyError) return refusal(error.invalidReason)
      throw error
    }
  }

  /** Never throws: whatever is not a plain answer leaves the outcome unknown. */
  async settle(wire: PaymentWire): Promise<RemoteSettlement> {
    try {
      return settlement(await this.#client.settle(...stockForm(wire)))
    } catch (error) {
      if (error instanceof SettleError) {
        const { errorReason, transaction } = error
        return settlement({ success: false, ...(errorReason === undefined ? {} : { errorReason }), transaction })
      }
      return { outcome: { kind: 'unknown', reason: 'no_answer' }, transactionId: null }
    }
  }
}

/** The payer has signed, so what this facilitator refuses another may still settle. */
function refusal(reason = 'refused_by_facilitator'): PaymentVerdict {
  return { valid: false, reason: code(reason), mayBePaid: true }
}

/** Reasons are stored and shown to payers, and a facilitator may write anything. */
function code(reason: string): string {
  return reason.replaceAll(/[^\w.:-]+/g, '_').slice(0, REASON_CHARACTERS_MAX)
}

/** Only a refusal of the payment itself (`invalid_…`, and no transaction named) says that nothing was sent. */
function settlement({
  success,
  errorReason = 'settlement_failed',
  transaction,
}: Pick<SettleResponse, 'success' | 'errorReason' | 'transaction'>): RemoteSettlement {
  const transactionId = TRANSACTION_ID.test(transaction) ? transaction : null
  if (success && transactionId !== null) return { outcome: { kind: 'settled', transactionId }, transactionId }
  const refused = !success && transaction === '' && errorReason.startsWith('invalid_')
  return { outcome: { kind: refused ? 'failed' : 'unknown', reason: code(errorReason) }, transactionId }
}

function stockForm(wire: PaymentWire): [Wire, Requirements] {
  return [wire as Wire, wire.accepted as Requirements]
}
