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
  /** Problems that prevent payments; empty if there are none. */
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

export class PaymentOperations {
  readonly #deps: PaymentOperationsDeps

  constructor(deps: PaymentOperationsDeps) {
    this.#deps = deps
  }

  /** Queries each chain's node and counts the payments in each state. */
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

  /** Logs problems that prevent payments as errors; never fails. */
  async announceProblems(): Promise<void> {
    for (const { network, problems } of await this.inspect()) {
      for (const problem of problems) this.#deps.log.error('payments do not work', { network, problem })
    }
  }

  /** Processes every unfinished payment now; returns how many, and how many stay unresolved. */
  async reconcile(): Promise<{ taken: number; unresolved: number }> {
    const taken = await this.#deps.reconciler.runAll()
    const { unresolved } = await this.#deps.payments.countUnresolved()
    return { taken, unresolved }
  }

  /** Reverses the credit of a payment whose transfer disappeared from the chain. */
  correct(input: CorrectPaymentInput): Promise<PaymentCorrection> {
    return this.#deps.rechecks.correct(input)
  }

  /** Newest first; `unresolved` lists only payments whose outcome is unknown. */
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
