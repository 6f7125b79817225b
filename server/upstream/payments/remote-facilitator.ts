import { z } from 'zod'
import type { PaymentVerdict, PaymentWire, SettleOutcome } from '../../domain/payments/payment-network.ts'
import { requestJson } from '../chain/bounded-request.ts'
import { knownReason } from './facilitator-reasons.ts'

/** A settlement may wait for the chain; a longer one is found later by the operator's own node. */
const SETTLE_TIMEOUT_MS = 30_000
/** For a whole verification. */
const VERIFY_TIMEOUT_MS = 10_000
/** Offers wait for the facilitator's description of itself. */
const TERMS_TIMEOUT_MS = 5_000
const TRANSACTION_ID = /^[0-9A-Za-z]{1,100}$/

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined)
const Supported = z.object({
  kinds: z.array(
    z.object({
      x402Version: z.number(),
      scheme: z.string(),
      network: z.string(),
      extra: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
})
/** A facilitator may send a rejection with any status. */
const Verification = z.object({ isValid: z.boolean(), invalidReason: text })
const Settlement = z.object({ success: z.boolean(), errorReason: text, transaction: z.string().default('') })
type Settlement = z.output<typeof Settlement>

export interface RemoteSettlement {
  outcome: SettleOutcome
  /** The transaction that the facilitator names, even if it failed. */
  transactionId: string | null
}

/** A facilitator behind a URL. Its responses are never trusted: only our own node shows that a payment is on the chain. */
export class RemoteFacilitator {
  readonly #url: string
  readonly #network: string

  constructor(url: string, network: string) {
    this.#url = url.replace(/\/+$/, '')
    this.#network = network
  }

  /** The facilitator's `extra` for scheme `exact` on this network. Fails if it does not serve that. */
  async extra(): Promise<Record<string, unknown>> {
    const answer = await requestJson(`${this.#url}/supported`, { method: 'GET', deadlineMs: TERMS_TIMEOUT_MS })
    const supported = Supported.safeParse(answer.value)
    if (!supported.success) throw new Error(`the facilitator responded to supported with status ${answer.status}`)
    const kind = supported.data.kinds.find(({ x402Version, scheme, network }) => {
      return x402Version === 2 && scheme === 'exact' && network === this.#network
    })
    if (kind === undefined) throw new Error(`the facilitator does not settle scheme exact on ${this.#network}`)
    return kind.extra ?? {}
  }

  async verify(wire: PaymentWire): Promise<PaymentVerdict> {
    const { isValid, invalidReason } = await this.#post('verify', wire, {
      shape: Verification,
      deadlineMs: VERIFY_TIMEOUT_MS,
    })
    return isValid ? { valid: true } : refusal(invalidReason)
  }

  /** Never throws: anything but a clear response leaves the outcome unknown. */
  async settle(wire: PaymentWire): Promise<RemoteSettlement> {
    try {
      return settlement(await this.#post('settle', wire, { shape: Settlement, deadlineMs: SETTLE_TIMEOUT_MS }))
    } catch {
      return { outcome: { kind: 'unknown', reason: 'no_answer' }, transactionId: null }
    }
  }

  async #post<Result>(
    path: string,
    wire: PaymentWire,
    { shape, deadlineMs }: { shape: z.ZodType<Result>; deadlineMs: number },
  ): Promise<Result> {
    const body = { x402Version: wire.x402Version, paymentPayload: wire, paymentRequirements: wire.accepted }
    const { status, value } = await requestJson(`${this.#url}/${path}`, { method: 'POST', body, deadlineMs })
    const read = shape.safeParse(value)
    if (!read.success)
      throw new Error(`the facilitator responded to ${path} with status ${status} in an unknown format`)
    return read.data
  }
}

/** The payer has signed, so another facilitator may still settle a payment that this one rejects. */
function refusal(reason: string | undefined): PaymentVerdict {
  return { valid: false, reason: knownReason(reason, 'refused_by_facilitator'), mayBePaid: true }
}

/** Only a rejection of the payment itself (`invalid_…`, and no transaction named) proves that nothing was sent. */
function settlement({ success, errorReason, transaction }: Settlement): RemoteSettlement {
  const transactionId = TRANSACTION_ID.test(transaction) ? transaction : null
  if (success && transactionId !== null) return { outcome: { kind: 'settled', transactionId }, transactionId }
  const refused = !success && transaction === '' && errorReason?.startsWith('invalid_') === true
  const reason = knownReason(errorReason, 'settlement_failed')
  return { outcome: { kind: refused ? 'failed' : 'unknown', reason }, transactionId }
}
