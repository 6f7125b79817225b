import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { IdSource } from '../ids.ts'
import type { AddressLimit } from '../rate-limits/address-limit.ts'
import { networkOf } from '../rate-limits/network-of.ts'
import type { WalletAddress } from '../wallets/wallet-address.ts'
import { isUnresolved, type Payment } from './payment.ts'
import { checkAmount } from './payment-amount.ts'
import type { PaymentEnvelope } from './payment-envelope.ts'
import { paymentError } from './payment-errors.ts'
import { readPaymentHeader } from './payment-header.ts'
import type { PaymentMachine, PaymentRun } from './payment-machine.ts'
import type { PaymentNetwork, SignedPayment } from './payment-network.ts'
import { NANO_USD_PER_ATOMIC } from './payment-options.ts'
import { refusalFor, refusalOf } from './payment-refusal.ts'
import type { PaymentRepository } from './payment-repository.ts'
import { leaseEnd } from './payment-schedule.ts'
import type { SettlementFailures } from './settlement-failures.ts'

/** How often a repeat polls a payment that another process works on. */
const POLL_MS = 250
const RETRY_AFTER_SECONDS = 5

export interface CreditedPayment {
  kind: 'credited'
  paymentId: string
  wallet: WalletAddress
  amountNanoUsd: bigint
  /** The wallet's balance immediately after this credit. */
  balanceNanoUsd: bigint
  network: string
  transactionId: string
}

/** The outcome is not known yet; the payer must not sign a second payment because of this response. */
export interface PendingPayment {
  kind: 'pending'
  transactionId: string | null
  retryAfterSeconds: number
}

export type PaymentResult = CreditedPayment | PendingPayment

export interface PaymentServiceDeps {
  networks: readonly PaymentNetwork[]
  payments: PaymentRepository
  machine: PaymentMachine
  /** Limits new payments per network address, because each may cost the platform chain fees. Repeats do not count. */
  limit: Pick<AddressLimit, 'admit'>
  failures: Pick<SettlementFailures, 'assertFew'>
  clock: Clock
  ids: IdSource
  wait: (milliseconds: number) => Promise<void>
  answerSeconds: number
  /** Whether a payment may accompany the request that it pays for. */
  payPerRequest: boolean
}

export interface SentPayment {
  address: string
  idempotencyKey: string | null
}

interface Claim extends SentPayment {
  signed: SignedPayment
  digest: string
}

interface Claimed {
  payment: Payment
  /** Absent if another request or process made the claim. */
  run?: PaymentRun
}

/**
 * Payments by x402. A payment is identified by its canonical claim: every copy and spelling of it maps to one row and
 * gets the first response. The credit goes to the wallet that signed. Fails with the `payment_…` codes, and with
 * `rate_limited` for too many new payments from one address.
 */
export class PaymentService {
  readonly #deps: PaymentServiceDeps

  constructor(deps: PaymentServiceDeps) {
    this.#deps = deps
  }

  /**
   * Settles and credits the payment of a header. Under an idempotency key, every payment of the wallet within 24 hours
   * gets the first response, so that a client that signs again after a lost response pays only once.
   */
  async topUp(header: string, sent: SentPayment): Promise<PaymentResult> {
    const deadlineMs = this.#deps.clock.nowMs() + this.#deps.answerSeconds * 1_000
    const envelope = this.#open(header)
    const taken = await this.#findTaken(envelope)
    if (taken !== undefined) return toResult(await this.#until(taken, undefined, deadlineMs))
    const claim = this.#read(envelope, sent)
    for (;;) {
      const { payment, run } = await this.#claim(claim)
      const ended = await this.#until(payment, run, deadlineMs)
      // Another spelling may have an invalid signature, so its rejection says nothing about this one.
      const stranger = run === undefined && ended.digest !== claim.digest && isOpenAgain(ended)
      if (!stranger) return toResult(ended)
    }
  }

  /**
   * Like `topUp`, for a request that runs as the payer. A signature is public once it is on a chain, so only the request
   * that first presented it, while unused, may run; any other fails with `payment_used`.
   */
  async payForRequest(header: string, address: string): Promise<PaymentResult> {
    if (!this.#deps.payPerRequest) {
      throw paymentError(
        'payment_not_accepted',
        'This service does not accept a payment with a request, and nothing was settled; send the payment to POST /api/v1/x402/top-up',
      )
    }
    const envelope = this.#open(header)
    if ((await this.#findTaken(envelope)) !== undefined) throw alreadyUsed()
    const claim = this.#read(envelope, { address, idempotencyKey: null })
    if ((await this.#find(claim)) !== undefined) throw alreadyUsed()
    const { payment, run } = await this.#claim(claim)
    if (run === undefined) throw alreadyUsed()
    const result = toResult(
      await this.#until(payment, run, this.#deps.clock.nowMs() + this.#deps.answerSeconds * 1_000),
    )
    if (result.kind === 'credited' && !run.verified) throw alreadyUsed()
    return result
  }

  #open(header: string): PaymentEnvelope {
    const { networks } = this.#deps
    if (networks.length === 0) {
      throw paymentError(
        'payment_not_configured',
        'This service does not accept wallet payments: x402 is not configured',
      )
    }
    const envelope = readPaymentHeader(header)
    if (envelope.scheme !== 'exact') {
      throw paymentError('payment_scheme_unsupported', `The scheme "${envelope.scheme}" is not supported; use "exact"`)
    }
    return envelope
  }

  /** Terms such as the payee's address change: a payment made under earlier terms gets its original response. */
  async #findTaken(envelope: PaymentEnvelope): Promise<Payment | undefined> {
    const network = this.#networkOf(envelope.network)
    const claimKey = network.claimKeyOf(envelope)
    const standing = claimKey === null ? undefined : await this.#deps.payments.find(network.network, claimKey)
    return standing === undefined || isOpenAgain(standing) ? undefined : standing
  }

  #read(envelope: PaymentEnvelope, sent: SentPayment): Claim {
    const signed = this.#networkOf(envelope.network).read(envelope)
    checkAmount(signed.amountAtomic)
    return { ...sent, signed, digest: digestOf(signed) }
  }

  /** The row of a payment: new, restarted after a rejection, or as another request left it. */
  async #claim(claim: Claim): Promise<Claimed> {
    const { payments, machine, limit, failures, clock, ids } = this.#deps
    let signed = false
    for (;;) {
      const standing = await this.#find(claim)
      if (standing !== undefined && !signed && asksForAnother(claim, standing)) {
        await this.#assertSigned(claim)
        signed = true
      }
      if (standing !== undefined && !isOpenAgain(standing)) return { payment: standing }
      if (standing !== undefined && machine.running.has(standing.id)) return { payment: standing }
      await limit.admit(claim.address)
      await failures.assertFew(claim.signed.payer, claim.address)
      const now = clock.now()
      const fresh = newPayment(claim, { id: ids.uuid(), receivedAt: now })
      const times = { now, checkAt: leaseEnd(now) }
      const claimed =
        standing === undefined ? await payments.claim(fresh, times) : await payments.claimAgain(standing, fresh, times)
      if (claimed !== undefined) return { payment: claimed, run: machine.run(claimed) }
    }
  }

  /** Only the payer may read the payment under their key, or replace one that may still be paid. */
  async #assertSigned({ signed }: Claim): Promise<void> {
    const verdict = await this.#networkOf(signed.network)
      .verify(signed)
      .catch((cause: unknown) => {
        const message = 'The blockchain node is temporarily unreachable; retry the same payment shortly'
        throw new DomainError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause })
      })
    if (!verdict.valid && !verdict.mayBePaid) throw refusalFor('refused', verdict.reason)
  }

  #networkOf(name: string): PaymentNetwork {
    const { networks } = this.#deps
    const network = networks.find((candidate) => candidate.network === name)
    if (network !== undefined) return network
    const taken = networks.map((candidate) => candidate.network).join(', ')
    throw paymentError('payment_network_unsupported', `Payments on "${name}" are not supported; use ${taken}`)
  }

  async #find({ signed, idempotencyKey }: Claim): Promise<Payment | undefined> {
    const { payments } = this.#deps
    const standing = await payments.find(signed.network, signed.claimKey)
    if (idempotencyKey === null || (standing !== undefined && !isOpenAgain(standing))) return standing
    return (await payments.findKeyed(signed.payer, idempotencyKey)) ?? standing
  }

  async #until(payment: Payment, run: PaymentRun | undefined, deadlineMs: number): Promise<Payment> {
    const { clock, wait, machine, payments } = this.#deps
    const joined = run ?? machine.running.get(payment.id)
    const leftMs = (): number => deadlineMs - clock.nowMs()
    if (joined !== undefined) {
      return (await endedWithin(joined, Math.max(0, leftMs()))) ?? payments.get(payment.id)
    }
    let current = payment
    while (isUnresolved(current.state) && leftMs() > 0) {
      await wait(Math.min(POLL_MS, leftMs()))
      current = await payments.get(payment.id)
    }
    return current
  }
}

/** Undefined if the run takes longer; it continues in the background. */
async function endedWithin({ ended }: PaymentRun, milliseconds: number): Promise<Payment | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds)
  })
  try {
    return await Promise.race([ended, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A payment that was not accepted may be submitted again: its payer may have got funds, or its start time may have
 * passed.
 */
function isOpenAgain({ state }: Payment): boolean {
  return state === 'refused' || state === 'failed'
}

/**
 * Whether this is another payment under the same idempotency key, or a different spelling, signed differently, of one
 * that may be submitted again.
 */
function asksForAnother({ signed, digest }: Claim, standing: Payment): boolean {
  return standing.signed.claimKey !== signed.claimKey || (standing.digest !== digest && isOpenAgain(standing))
}

function toResult(payment: Payment): PaymentResult {
  const { signed, transactionId, transferAtomic, balanceAfterNanoUsd } = payment
  const isCredited = payment.state === 'credited' && balanceAfterNanoUsd !== null
  if (isCredited && transactionId !== null && transferAtomic !== null) {
    return {
      kind: 'credited',
      paymentId: payment.id,
      wallet: signed.payer,
      amountNanoUsd: transferAtomic * NANO_USD_PER_ATOMIC,
      balanceNanoUsd: balanceAfterNanoUsd,
      network: signed.network,
      transactionId,
    }
  }
  const refusal = refusalOf(payment)
  if (refusal !== undefined) throw refusal
  return { kind: 'pending', transactionId, retryAfterSeconds: RETRY_AFTER_SECONDS }
}

function newPayment(
  { signed, digest, idempotencyKey, address }: Claim,
  made: { id: string; receivedAt: Date },
): Payment {
  return {
    ...made,
    signed,
    digest,
    idempotencyKey,
    state: 'received',
    transactionId: null,
    submittedTransactionIds: [],
    transferIndex: null,
    transferAtomic: null,
    reason: null,
    accountId: null,
    balanceAfterNanoUsd: null,
    looks: 0,
    clientNetwork: networkOf(address),
    disappearedAt: null,
    rechecks: 0,
    missingChecks: 0,
    correctedNanoUsd: null,
  }
}

function digestOf({ wire }: SignedPayment): string {
  return createHash('sha256').update(JSON.stringify(wire)).digest('hex')
}

function alreadyUsed(): DomainError {
  return paymentError(
    'payment_used',
    "This payment was already sent. If it settled, its amount is on the wallet's balance. Sign in with the header SIGN-IN-WITH-X, or sign a new payment",
  )
}
