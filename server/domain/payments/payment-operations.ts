import { z } from 'zod'
import type { Log } from '../log.ts'
import { CursorInstant, decodeCursor, type Page, toPage } from '../page.ts'
import { isUuid } from '../validation/uuid.ts'
import type { CorrectPaymentInput, ListPaymentsInput } from './inputs.ts'
import { PAYMENT_STATES, type Payment, type PaymentState, UNRESOLVED_STATES } from './payment.ts'
import type { PaymentNetwork } from './payment-network.ts'
import type { PaymentCorrection, PaymentRechecks } from './payment-rechecks.ts'
import type { PaymentReconciler } from './payment-reconciler.ts'
import type { PaymentRepository, StateCount } from './payment-repository.ts'

const CURSOR_SCOPE = { list: 'payments', accountId: 'platform' }
const PaymentCursor = z.tuple([CursorInstant, z.string().refine(isUuid)])

export interface NetworkStatus {
  network: string
  /** What keeps payments from working; empty: nothing. */
  problems: string[]
}

export interface PaymentStatus {
  networks: NetworkStatus[]
  counts: StateCount[]
  unresolved: number
  oldestUnresolvedAt: Date | null
}

export interface PaymentOperationsDeps {
  payments: PaymentRepository
  reconciler: PaymentReconciler
  rechecks: Pick<PaymentRechecks, 'correct'>
  networks: readonly PaymentNetwork[]
  log: Log
}

/** Payments as the operator sees them. */
export class PaymentOperations {
  readonly #deps: PaymentOperationsDeps

  constructor(deps: PaymentOperationsDeps) {
    this.#deps = deps
  }

  /** Asks each chain's node, and counts the payments of each state. */
  async status(): Promise<PaymentStatus> {
    const { payments } = this.#deps
    const [networks, counts, open] = await Promise.all([
      this.inspect(),
      payments.countByState(),
      payments.countUnresolved(),
    ])
    return { networks, counts, unresolved: open.unresolved, oldestUnresolvedAt: open.oldestAt }
  }

  inspect(): Promise<NetworkStatus[]> {
    return Promise.all(
      this.#deps.networks.map(async (network) => ({ network: network.network, problems: await network.inspect() })),
    )
  }

  /** Logs as errors what keeps payments from working; never fails. */
  async announceProblems(): Promise<void> {
    for (const { network, problems } of await this.inspect()) {
      for (const problem of problems) this.#deps.log.error('payments do not work', { network, problem })
    }
  }

  /** Takes up every payment that is not ended, now; returns how many, and how many stay unresolved. */
  async reconcile(): Promise<{ taken: number; unresolved: number }> {
    const taken = await this.#deps.reconciler.runAll()
    const { unresolved } = await this.#deps.payments.countUnresolved()
    return { taken, unresolved }
  }

  /** Takes back the credit of a payment whose transfer disappeared from the chain. */
  correct(input: CorrectPaymentInput): Promise<PaymentCorrection> {
    return this.#deps.rechecks.correct(input)
  }

  /** Newest first; `unresolved` leaves those out whose end is known. */
  async list({ state, ...page }: ListPaymentsInput): Promise<Page<Payment>> {
    const disappeared = state === 'disappeared'
    const states = statesOf(state)
    const [receivedAt, id] = page.after ? decodeCursor(CURSOR_SCOPE, PaymentCursor, page.after) : []
    const before = receivedAt === undefined || id === undefined ? null : { receivedAt: new Date(receivedAt), id }
    const rows = await this.#deps.payments.list({ states, disappeared, limit: page.first + 1, before })
    return toPage(rows, page.first, {
      scope: CURSOR_SCOPE,
      keyOf: (payment) => [payment.receivedAt.toISOString(), payment.id],
    })
  }
}

function statesOf(state: ListPaymentsInput['state']): readonly PaymentState[] {
  if (state === undefined) return PAYMENT_STATES
  if (state === 'disappeared') return ['credited']
  return state === 'unresolved' ? UNRESOLVED_STATES : [state]
}
