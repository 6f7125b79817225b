import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PaymentFeeRepository } from '../../../../server/domain/payments/payment-fee-repository.ts'
import { type FeeGauges, PaymentFees } from '../../../../server/domain/payments/payment-fees.ts'
import { SettlementFailureRepository } from '../../../../server/domain/payments/settlement-failure-repository.ts'
import { SettlementFailures } from '../../../../server/domain/payments/settlement-failures.ts'
import type { WalletAddress } from '../../../../server/domain/wallets/wallet-address.ts'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

const NETWORK = 'eip155:8453'
const HOUR_MS = 3_600_000
const PAYER: WalletAddress = { chain: 'evm', address: `0x${'a'.repeat(40)}` }
const OTHER: WalletAddress = { chain: 'evm', address: `0x${'b'.repeat(40)}` }

let database: TestDatabase
let clock: FakeClock
afterEach(() => database.close())

function startProcess(perDay = 100n) {
  const log = createRecordingLog()
  const gauges: FeeGauges[] = []
  const fees = new PaymentFees({
    repository: new PaymentFeeRepository(database.db),
    networks: [{ network: NETWORK, feeBudget: { perDay, currency: 'ETH', decimals: 1 } }],
    gauge: (one) => gauges.push(one),
    clock,
    log,
  })
  const repository = new SettlementFailureRepository(database.db)
  const failures = new SettlementFailures({ repository, clock, perHour: 3, perHourPerIp: 4 })
  return { log, gauges, fees, failures }
}

const paidBy = (payer: WalletAddress, clientNetwork: string) => ({ network: NETWORK, payer, clientNetwork })

describe.each(EITHER_ENGINE)('settlement fees on %s', (engine) => {
  beforeEach(async () => {
    database = await createTestDatabase(engine)
    clock = createFakeClock('2026-03-01T12:00:00.000Z')
  })

  it('never exceed the budget of a day over all processes', async () => {
    const processes = [startProcess(), startProcess()]
    const reserved = await Promise.allSettled(
      Array.from({ length: 30 }, async (_, index) => processes[index % 2]?.fees.open(NETWORK).reserve(7n)),
    )
    expect(reserved.filter(({ status }) => status === 'fulfilled')).toHaveLength(14)
    await processes[0]?.fees.open(NETWORK).reserve(2n)
    expect(await startProcess().fees.hasLeft(NETWORK)).toBe(false)
    clock.advance(12 * HOUR_MS)
    expect(await startProcess().fees.hasLeft(NETWORK)).toBe(true)
  })

  it('return what a settlement did not cost, and count what it cost beyond', async () => {
    const { fees, gauges } = startProcess()
    const cheap = fees.open(NETWORK)
    await cheap.reserve(60n)
    await cheap.settle(5n)
    await cheap.settle(5n)
    const dear = fees.open(NETWORK)
    await dear.reserve(40n)
    await dear.settle(45n)
    await fees.watch()
    expect(gauges).toEqual([{ network: NETWORK, spent: 5, budget: 10 }])
  })

  it('raise an alarm once a day when the budget is spent', async () => {
    const { fees, log } = startProcess()
    const levels = () => log.lines.map(({ level }) => level)
    await fees.open(NETWORK).reserve(80n)
    await fees.watch()
    await fees.watch()
    expect(levels()).toEqual(['warn'])
    const tooMuch = fees.open(NETWORK)
    await expect(tooMuch.reserve(21n)).rejects.toThrow('budget')
    expect(tooMuch.exceeded).toBe(true)
    await expect(fees.open(NETWORK).reserve(21n)).rejects.toThrow('budget')
    expect(levels()).toEqual(['warn', 'error'])
  })

  it('are bounded by the failures of one wallet and of one address in an hour', async () => {
    const { failures } = startProcess()
    await failures.record(paidBy(PAYER, '192.0.2.1'), ['0x1', '0x2'])
    await failures.record(paidBy(PAYER, '192.0.2.1'), ['0x2'])
    await failures.assertFew(PAYER, '192.0.2.9')
    await failures.record(paidBy(PAYER, '192.0.2.1'), ['0x3'])
    await expect(failures.assertFew(PAYER, '192.0.2.9')).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('3 settlements of one wallet that fail on chain per hour'),
      retryAfterSeconds: 3_600,
    })
    await failures.assertFew(OTHER, '192.0.2.1')
    await failures.record(paidBy(OTHER, '192.0.2.1'), ['0x4'])
    await expect(failures.assertFew(OTHER, '192.0.2.1')).rejects.toMatchObject({
      message: expect.stringContaining('4 settlements of one address'),
    })
    await failures.assertFew(OTHER, '192.0.2.9')
    clock.advance(HOUR_MS + 1_000)
    await failures.assertFew(PAYER, '192.0.2.1')
  })
})
