import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createIdSource } from '../../../../server/domain/ids.ts'
import type { Payment } from '../../../../server/domain/payments/payment.ts'
import { PaymentFeeRepository } from '../../../../server/domain/payments/payment-fee-repository.ts'
import { type FeeGauges, PaymentFees } from '../../../../server/domain/payments/payment-fees.ts'
import { PaymentMachine } from '../../../../server/domain/payments/payment-machine.ts'
import type {
  ChainOutcome,
  FeeBudget,
  PaymentNetwork,
  PaymentVerdict,
  SettleOutcome,
  SignedPayment,
  TransferStanding,
} from '../../../../server/domain/payments/payment-network.ts'
import { PaymentRecheckRepository } from '../../../../server/domain/payments/payment-recheck-repository.ts'
import { PaymentRechecks } from '../../../../server/domain/payments/payment-rechecks.ts'
import { type PaymentGauges, PaymentReconciler } from '../../../../server/domain/payments/payment-reconciler.ts'
import { PaymentRepository } from '../../../../server/domain/payments/payment-repository.ts'
import { SettlementFailureRepository } from '../../../../server/domain/payments/settlement-failure-repository.ts'
import { SettlementFailures } from '../../../../server/domain/payments/settlement-failures.ts'
import { createTestDatabase, type DatabaseEngine, EITHER_ENGINE, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness } from '../../../support/money-harness.ts'
import { RECEIVED_PAYMENT } from '../../../support/received-payment.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

const NETWORK = 'eip155:8453'
const PAYER = `0x${'a'.repeat(40)}`
const TRANSFER = {
  transactionId: '0xfeed',
  transferIndex: 3,
  payer: { chain: 'evm', address: PAYER },
  amountAtomic: 5_000_000n,
} as const
const MINUTE_MS = 60_000

/** What a chain's node answers, as recorded from one. */
interface Answers {
  /** An error: the node does not answer. */
  verdict: PaymentVerdict | Error | Promise<PaymentVerdict>
  outcome: ChainOutcome
  settled: number
  settlement: SettleOutcome
  feeBudget: FeeBudget | null
  /** Reserved by each settlement. */
  fee: bigint
  standing: TransferStanding | Error
}

function playNetwork(answers: Answers): PaymentNetwork {
  return {
    network: NETWORK,
    feeBudget: answers.feeBudget,
    requirement: () => Promise.reject(new Error('not asked')),
    claimKeyOf: () => null,
    read: () => {
      throw new Error('not asked')
    },
    verify: async () => {
      if (answers.verdict instanceof Error) throw answers.verdict
      return answers.verdict
    },
    settle: async (_, announce, reserveFee) => {
      await reserveFee?.(answers.fee)
      answers.settled++
      await announce(`0x${answers.settled}`)
      return answers.settlement
    },
    lookUp: async () => answers.outcome,
    recheck: async () => {
      if (answers.standing instanceof Error) throw answers.standing
      return answers.standing
    },
    inspect: async () => [],
  }
}

let engine: DatabaseEngine = 'embedded'
let database: TestDatabase
let clock: FakeClock
let payments: PaymentRepository
let answers: Answers
beforeEach(async () => {
  database = await createTestDatabase(engine)
  clock = createFakeClock()
  payments = new PaymentRepository(database.db)
  answers = {
    verdict: { valid: true },
    outcome: { kind: 'pending', sent: false },
    settled: 0,
    settlement: { kind: 'unknown', reason: 'no_receipt' },
    feeBudget: null,
    fee: 10n,
    standing: { kind: 'present' },
  }
})
afterEach(() => database.close())

/** The payments part of one process. */
function startProcess() {
  const log = createRecordingLog()
  const gauges: PaymentGauges[] = []
  const feeGauges: FeeGauges[] = []
  const steps: string[] = []
  const networks = [playNetwork(answers)]
  const ids = createIdSource(clock)
  const balanceFeed = { changed: () => {} }
  const fees = new PaymentFees({
    repository: new PaymentFeeRepository(database.db),
    networks,
    gauge: (one) => feeGauges.push(one),
    clock,
    log,
  })
  const failures = new SettlementFailures({
    repository: new SettlementFailureRepository(database.db),
    clock,
    perHour: 3,
    perHourPerIp: 4,
  })
  const rechecks = new PaymentRechecks({
    rechecks: new PaymentRecheckRepository(database.db),
    payments,
    networks,
    balanceFeed,
    gaugeDisappeared: () => {},
    clock,
    ids,
    log,
  })
  const machine = new PaymentMachine({
    payments,
    networks,
    fees,
    failures,
    balanceFeed,
    countStep: (_, state) => steps.push(state),
    clock,
    ids,
    log,
    wait: async (milliseconds) => clock.advance(milliseconds),
    confirmSeconds: 1,
  })
  const gauge = (one: PaymentGauges) => gauges.push(one)
  const reconciler = new PaymentReconciler({ payments, machine, gauge, clock, log, alarmMinutes: 15 })
  return { log, gauges, feeGauges, steps, machine, fees, failures, rechecks, reconciler }
}

function signed(claimKey: string): SignedPayment {
  const accepted = {
    scheme: 'exact',
    network: NETWORK,
    amount: '5000000',
    asset: '0xA',
    payTo: '0xB',
    maxTimeoutSeconds: 300,
    extra: {},
  } as const
  return {
    network: NETWORK,
    payer: { chain: 'evm', address: PAYER },
    asset: '0xA',
    payTo: '0xB',
    amountAtomic: 5_000_000n,
    claimKey,
    nonceKey: `nonce of ${claimKey}`,
    validUntil: new Date(clock.nowMs() + 5 * MINUTE_MS),
    wire: { x402Version: 2, accepted, payload: {} },
  }
}

let serial = 0
/** A payment that a process claimed and then left behind by its death. */
async function leaveBehind(): Promise<Payment> {
  serial++
  const now = clock.now()
  const payment: Payment = {
    id: createIdSource(clock).uuid(),
    state: 'received',
    signed: signed(`claim-${serial}`),
    receivedAt: now,
    ...RECEIVED_PAYMENT,
  }
  const claimed = await payments.claim(payment, { now, checkAt: new Date(now.getTime() + 15_000) })
  if (claimed === undefined) throw new Error('claimed before')
  return claimed
}

const stateOf = async ({ id }: Payment) => (await payments.get(id)).state

describe.each(EITHER_ENGINE)('the reconciler on %s', (name) => {
  beforeAll(() => {
    engine = name
  })

  it('leaves a payment to its process until the lease ends, then takes it up, one process alone', async () => {
    const payment = await leaveBehind()
    const [one, other] = [startProcess(), startProcess()]
    expect(await one.reconciler.runUnverified()).toBe(0)
    clock.advance(16_000)
    const taken = await Promise.all([one.reconciler.runUnverified(), other.reconciler.runUnverified()])
    expect(taken.toSorted((a, b) => a - b)).toEqual([0, 1])
    expect(answers.settled).toBe(1)
    expect(await stateOf(payment)).toBe('settling')
  })

  it('does not settle again while a transaction waits', async () => {
    const payment = await leaveBehind()
    const { reconciler } = startProcess()
    await reconciler.runAll()
    answers.outcome = { kind: 'pending', sent: true }
    await reconciler.runAll()
    expect(answers.settled).toBe(1)
    answers.outcome = { kind: 'paid', transfer: TRANSFER }
    await reconciler.runAll()
    expect(await payments.get(payment.id)).toMatchObject({ state: 'credited', balanceAfterNanoUsd: 5_000_000_000n })
  })

  it('credits a rejected payment that another party submitted to the chain', async () => {
    answers.verdict = { valid: false, reason: 'insufficient_funds', mayBePaid: true }
    const payment = await leaveBehind()
    const { reconciler } = startProcess()
    await reconciler.runAll()
    expect(await stateOf(payment)).toBe('refused')
    answers.outcome = { kind: 'paid', transfer: TRANSFER }
    // Looked at when it expires, not before: only then is anything certain.
    clock.advance(4 * MINUTE_MS)
    expect(await reconciler.run()).toBe(0)
    clock.advance(4 * MINUTE_MS)
    expect(await reconciler.run()).toBe(1)
    expect(await stateOf(payment)).toBe('credited')
  })

  it('never credits by a wrong signature what its payer paid elsewhere', async () => {
    answers = Object.assign(answers, { verdict: { valid: false, reason: 'signature', mayBePaid: false } })
    answers.outcome = { kind: 'paid', transfer: TRANSFER }
    const payment = await leaveBehind()
    const { reconciler } = startProcess()
    await reconciler.runAll()
    clock.advance(60 * MINUTE_MS)
    await reconciler.runAll()
    expect(await stateOf(payment)).toBe('refused')
  })

  it('buries a payment that can never come though nobody could ever verify it, and credits none unverified', async () => {
    answers.verdict = new Error('the node timed out')
    const payment = await leaveBehind()
    const { reconciler } = startProcess()
    for (const outcome of [{ kind: 'paid', transfer: TRANSFER }, answers.outcome] as const) {
      answers.outcome = outcome
      await reconciler.runAll()
      expect(await stateOf(payment)).toBe('received')
    }
    answers.outcome = { kind: 'impossible', reason: 'authorization_expired' }
    await reconciler.runAll()
    expect(await stateOf(payment)).toBe('dead')
  })

  it('gives one transfer to one payment', async () => {
    answers.outcome = { kind: 'paid', transfer: TRANSFER }
    answers.verdict = { valid: false, reason: 'nonce_already_used', mayBePaid: true }
    const [first, second] = [await leaveBehind(), await leaveBehind()]
    const { reconciler } = startProcess()
    await reconciler.runAll()
    const states = [await stateOf(first), await stateOf(second)]
    expect(states.toSorted()).toEqual(['credited', 'received'])
  })

  it('posts what verify finds again: each credited payment has its top-up, and each top-up its payment', async () => {
    answers.outcome = { kind: 'paid', transfer: TRANSFER }
    answers.verdict = { valid: false, reason: 'nonce_already_used', mayBePaid: true }
    const { id } = await leaveBehind()
    await startProcess().reconciler.runAll()
    const { ledger } = createMoneyHarness(database.db, clock)
    const broken = async () => (await ledger.verify()).checks.filter(({ ok }) => !ok).map((check) => check.id)
    expect(await broken()).toEqual([])
    const payment = () => database.db.updateTable('payments').where('payment_id', '=', id)
    for (const column of ['amount_atomic', 'transfer_atomic'] as const) {
      await payment()
        .set({ [column]: 5_000_001n })
        .execute()
      expect(await broken()).toEqual(['I10'])
      await payment()
        .set({ [column]: 5_000_000n })
        .execute()
      expect(await broken()).toEqual([])
    }
    await database.db.deleteFrom('payments').execute()
    expect(await broken()).toEqual(['I10'])
  })

  it('buries a payment that can never come, and forgets it a week later', async () => {
    const payment = await leaveBehind()
    const { reconciler } = startProcess()
    await reconciler.runAll()
    answers.outcome = { kind: 'impossible', reason: 'authorization_expired' }
    await reconciler.runAll()
    expect(await payments.get(payment.id)).toMatchObject({ state: 'dead', reason: 'authorization_expired' })
    expect(await reconciler.runAll()).toBe(0)
    clock.advance(8 * 24 * 60 * MINUTE_MS)
    await reconciler.watch()
    expect(await payments.find(NETWORK, payment.signed.claimKey)).toBeUndefined()
  })

  it('alarms once when a payment stays unresolved, and says how old it is', async () => {
    await leaveBehind()
    const { reconciler, log, gauges } = startProcess()
    const alarms = () => log.lines.filter(({ level }) => level === 'error').length
    await reconciler.watch()
    clock.advance(14 * MINUTE_MS)
    await reconciler.watch()
    expect(alarms()).toBe(0)
    clock.advance(2 * MINUTE_MS)
    await reconciler.watch()
    await reconciler.watch()
    expect(alarms()).toBe(1)
    expect(gauges.at(-1)).toEqual({ unresolved: 1, oldestAgeSeconds: 960 })
  })

  it('stops checking a payment that nobody can verify, and takes it up again when it is sent again', async () => {
    answers.verdict = new Error('the node timed out')
    const payment = await leaveBehind()
    const { reconciler } = startProcess()
    let checks = 0
    for (let minute = 0; minute < 60; minute++) {
      clock.advance(MINUTE_MS)
      checks += await reconciler.runUnverified()
    }
    expect(checks).toBe(8)
    expect(await payments.get(payment.id)).toMatchObject({ state: 'refused', reason: 'not_verified' })
    expect(await reconciler.runAll()).toBe(0)
    const times = { now: clock.now(), checkAt: clock.now() }
    const again = await payments.claimAgain(await payments.get(payment.id), payment, times)
    expect(again).toMatchObject({ state: 'received', looks: 0 })
  })

  it('never lets a payment that was verified wait for payments that nobody can verify', async () => {
    const verified = await leaveBehind()
    await payments.step(verified, { to: 'verified' }, { now: clock.now(), checkAt: clock.now() })
    for (let index = 0; index < 20; index++) await leaveBehind()
    clock.advance(MINUTE_MS)
    const { promise: hanging, reject: end } = Promise.withResolvers<PaymentVerdict>()
    answers.verdict = hanging
    answers.outcome = { kind: 'paid', transfer: TRANSFER }
    answers.settlement = { kind: 'settled', transactionId: TRANSFER.transactionId }
    const { reconciler } = startProcess()
    const unverified = reconciler.runUnverified()
    expect(await reconciler.run()).toBe(1)
    expect(await stateOf(verified)).toBe('credited')
    end(new Error('the node timed out'))
    await unverified
  })

  it('writes nothing to a payment that was replaced by another form of it', async () => {
    answers.verdict = { valid: false, reason: 'insufficient_funds', mayBePaid: true }
    const stale = await leaveBehind()
    await startProcess().reconciler.runAll()
    const times = { now: clock.now(), checkAt: clock.now() }
    await payments.claimAgain(await payments.get(stale.id), { ...stale, digest: 'another' }, times)
    expect(await payments.step(stale, { to: 'settled', transfer: TRANSFER }, times)).toBeUndefined()
    expect(await payments.announce(stale, '0x1', times)).toBeUndefined()
    await expect(payments.credit(stale, { transferId: stale.id, now: clock.now() })).rejects.toThrow('replaced')
    await payments.putOff(stale, null)
    expect(await payments.takeDue('unverified', { ...times, lease: clock.now(), limit: 9 })).toHaveLength(1)
  })

  it('never credits another amount than the chain moved', async () => {
    answers.verdict = { valid: false, reason: 'nonce_already_used', mayBePaid: true }
    answers.outcome = { kind: 'paid', transfer: { ...TRANSFER, amountAtomic: 5_000_001n } }
    const payment = await leaveBehind()
    await startProcess().reconciler.runAll()
    expect(await stateOf(payment)).toBe('received')
  })

  it('settles and credits one of several payments that were signed under one nonce', async () => {
    const [first, second] = [await leaveBehind(), await leaveBehind()]
    await database.db.updateTable('payments').set({ nonce_key: 'shared' }).execute()
    const { reconciler } = startProcess()
    await reconciler.runAll()
    const states = async () => [await stateOf(first), await stateOf(second)].toSorted()
    expect([await states(), answers.settled]).toEqual([['settling', 'verified'], 1])
    answers.outcome = { kind: 'paid', transfer: TRANSFER }
    await reconciler.runAll()
    answers.settlement = { kind: 'failed', reason: 'nonce_already_used' }
    answers.outcome = { kind: 'impossible', reason: 'nonce_already_used_otherwise' }
    await reconciler.runAll()
    expect(await states()).toEqual(['credited', 'dead'])
  })
})
