import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../../server/domain/clock.ts'
import { createIdSource } from '../../../../server/domain/ids.ts'
import type { Payment } from '../../../../server/domain/payments/payment.ts'
import type { PaymentNetwork } from '../../../../server/domain/payments/payment-network.ts'
import { PaymentRecheckRepository } from '../../../../server/domain/payments/payment-recheck-repository.ts'
import { PaymentRechecks } from '../../../../server/domain/payments/payment-rechecks.ts'
import { PaymentRepository } from '../../../../server/domain/payments/payment-repository.ts'
import { createEvmPayments } from '../../../../server/upstream/payments/evm/create-evm-payments.ts'
import { BASE_NETWORK, type BaseChain, startBaseChain } from '../../../support/base-chain.ts'
import { createFundedPayer, type EvmPayload, frontRun, signAuthorization } from '../../../support/base-payments.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { evmSettings } from '../../../support/evm-settings.ts'
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness } from '../../../support/money-harness.ts'
import { RECEIVED_PAYMENT } from '../../../support/received-payment.ts'
import { createRecordingLog, type RecordingLog } from '../../../support/recording-log.ts'

const MINUTE_MS = 60_000
const FINALITY_BLOCKS = 20
const PAID_NANO_USD = 5_000_000_000n

let chain: BaseChain
let network: PaymentNetwork
let database: TestDatabase
let clock: FakeClock
let log: RecordingLog
let payments: PaymentRepository
let rechecks: PaymentRechecks
let disappeared: number
beforeAll(async () => {
  chain = await startBaseChain()
  const settings = evmSettings(chain.url, { finalityBlocks: FINALITY_BLOCKS })
  network = await createEvmPayments(settings, { clock: systemClock, log: createRecordingLog() })
})
afterAll(() => chain.close())
beforeEach(async () => {
  database = await createTestDatabase()
  clock = createFakeClock()
  log = createRecordingLog()
  payments = new PaymentRepository(database.db)
  rechecks = new PaymentRechecks({
    rechecks: new PaymentRecheckRepository(database.db),
    payments,
    networks: [network],
    balanceFeed: { changed: () => {} },
    gaugeDisappeared: (count) => {
      disappeared = count
    },
    clock,
    ids: createIdSource(clock),
    log,
  })
})
afterEach(() => database.close())

/** A payment that the chain has taken and that was credited. */
async function credit(payload: EvmPayload): Promise<Payment> {
  await frontRun(chain, payload)
  const signed = network.read({ scheme: 'exact', network: BASE_NETWORK, asset: null, payTo: null, payload })
  const now = clock.now()
  const id = createIdSource(clock).uuid()
  const payment: Payment = { id, state: 'received', signed, receivedAt: new Date(), ...RECEIVED_PAYMENT }
  await payments.claim(payment, { now, checkAt: null })
  const found = await network.lookUp(signed, { transactionIds: [], receivedAt: new Date() })
  if (found.kind !== 'paid') throw new Error('the chain has not taken it')
  await payments.step(payment, { to: 'settled', transfer: found.transfer }, { now, checkAt: null })
  return payments.credit(payment, { transferId: createIdSource(clock).uuid(), now })
}

async function check(): Promise<number> {
  clock.advance(60 * MINUTE_MS)
  const checked = await rechecks.run()
  await rechecks.watch()
  return checked
}

const errors = () => log.lines.filter(({ level }) => level === 'error').map(({ message }) => message)
const correct = (payment: Payment) => rechecks.correct({ paymentId: payment.id, reason: 'reorganization' })
const broken = async () => {
  const { checks } = await createMoneyHarness(database.db, clock).ledger.verify()
  return checks.filter(({ ok }) => !ok).map(({ id }) => id)
}

test('a credited transfer is checked until it is deep enough, and never again', async () => {
  const payment = await credit(await signAuthorization(await createFundedPayer(chain)))
  expect([await check(), await check()]).toEqual([1, 1])
  await chain.client.mine({ blocks: FINALITY_BLOCKS })
  expect([await check(), await check()]).toEqual([1, 0])
  await expect(correct(payment)).rejects.toMatchObject({ code: 'conflict' })
  expect([errors(), disappeared]).toEqual([[], 0])
})

test('a credited transfer that a reorganization removes raises one alarm, and its credit is taken back once', async () => {
  const payload = await signAuthorization(await createFundedPayer(chain))
  const before = await chain.client.snapshot()
  const payment = await credit(payload)
  await chain.client.revert({ id: before })
  expect([await check(), disappeared, errors()]).toEqual([1, 0, []])
  await check()
  expect([await check(), disappeared]).toEqual([1, 1])
  expect(errors()).toEqual([expect.stringContaining('disappeared')])

  // The wallet has spent a part of the credit meanwhile.
  const { ledger } = createMoneyHarness(database.db, clock)
  const spent = { accountId: payment.accountId ?? '', amountNanoUsd: -2_000_000_000n, reason: 'spent' }
  await ledger.grant(spent)
  const first = await correct(payment)
  expect(first).toMatchObject({ creditedNanoUsd: PAID_NANO_USD, correctedNanoUsd: 3_000_000_000n })
  expect(first.outstandingNanoUsd).toBe(2_000_000_000n)
  expect(await correct(payment)).toEqual(first)
  expect((await ledger.balances(payment.accountId ?? ''))[0]).toMatchObject({ balanceNanoUsd: 0n })
  await rechecks.watch()
  expect([disappeared, await check()]).toEqual([0, 0])
  expect(await broken()).toEqual([])
})

test('a credited transfer that another block takes again is followed, and keeps its credit', async () => {
  const payload = await signAuthorization(await createFundedPayer(chain))
  const before = await chain.client.snapshot()
  const payment = await credit(payload)
  await chain.client.revert({ id: before })
  await check()
  await check()
  expect(disappeared).toBe(1)
  await chain.client.mine({ blocks: 3 })
  await frontRun(chain, payload)
  await check()
  const found = await payments.get(payment.id)
  expect([disappeared, found.disappearedAt, found.missingChecks]).toEqual([0, null, 0])
  await expect(correct(payment)).rejects.toMatchObject({ code: 'conflict' })
})

test('verify finds a credit, a correction or a transfer that does not fit the others', async () => {
  const payment = await credit(await signAuthorization(await createFundedPayer(chain)))
  expect(await broken()).toEqual([])
  const row = () => database.db.updateTable('payments').where('payment_id', '=', payment.id)
  await row().set({ transfer_atomic: 10_000_000_000n }).execute()
  expect(await broken()).toEqual(['I10'])
  await row().set({ transfer_atomic: 5_000_000n, corrected_nano: 1n, corrected_at: new Date() }).execute()
  expect(await broken()).toEqual(['I10'])
})
