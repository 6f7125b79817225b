import { describe, expect, test } from 'vitest'
import { systemClock } from '../../server/domain/clock.ts'
import { HoldRepository } from '../../server/domain/metering/hold-repository.ts'
import { createTestDatabase } from '../support/database.ts'
import { createMoneyHarness, usageOf } from '../support/money-harness.ts'

/** A database that does what it is asked, while the connection is gone before it can say so. */
class SilentHolds extends HoldRepository {
  lostAnswers = 0
  delays = false
  /** The batch that is on its way for so long that its sender has given it up. */
  arrive: () => Promise<unknown> = async () => {}

  override async settleAndAdmit(...batch: Parameters<HoldRepository['settleAndAdmit']>) {
    if (this.delays) {
      await new Promise(setImmediate)
      this.arrive = () => super.settleAndAdmit(...batch)
      throw connectionLost()
    }
    const results = await super.settleAndAdmit(...batch)
    if (this.lostAnswers-- > 0) throw connectionLost()
    return results
  }
}

function connectionLost(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}

async function openHarness() {
  const database = await createTestDatabase()
  const holds = new SilentHolds(database.db)
  const harness = createMoneyHarness(database.db, systemClock, {
    holds,
    // The embedded database responds within one turn of the event loop, so timers need a turn of their own.
    wait: () => new Promise((resolve) => setImmediate(resolve)),
    patience: { admitMs: 500, settleMs: 500, extendMs: 500 },
  })
  const caller = await harness.addCaller({ usdNano: 1_000n })
  const state = async () => {
    const [usd] = await harness.ledger.balances(caller.accountId)
    const { ok } = await harness.ledger.verify()
    return { balance: usd?.balanceNanoUsd, held: usd?.heldNanoUsd, ok }
  }
  return { ...harness, holds, caller, state, [Symbol.asyncDispose]: database.close }
}

describe('a database whose responses get lost', () => {
  test('admits a request once', async () => {
    await using harness = await openHarness()
    harness.holds.lostAnswers = 3
    await harness.open(harness.caller, 400n)
    expect(await harness.state()).toEqual({ balance: 1_000n, held: 400n, ok: true })
  })

  test('charges a request once', async () => {
    await using harness = await openHarness()
    const request = await harness.open(harness.caller, 400n)
    harness.holds.lostAnswers = 3
    expect(await request.settle(usageOf(150n))).toMatchObject({ chargedNanoUsd: 150n })
    expect(await harness.state()).toEqual({ balance: 850n, held: 0n, ok: true })
  })

  test('keeps no hold of an admission that was given up', async () => {
    await using harness = await openHarness()
    harness.holds.lostAnswers = Number.POSITIVE_INFINITY
    await expect(harness.open(harness.caller, 400n)).rejects.toMatchObject({ code: 'unavailable' })
    harness.holds.lostAnswers = 0
    await harness.sweeper.releaseOwn()
    expect(await harness.state()).toEqual({ balance: 1_000n, held: 0n, ok: true })
  })

  test('keeps no hold of a release that was given up', async () => {
    await using harness = await openHarness()
    const request = await harness.open(harness.caller, 400n)
    harness.holds.lostAnswers = Number.POSITIVE_INFINITY
    await expect(request.release()).rejects.toMatchObject({ code: 'unavailable' })
    harness.holds.lostAnswers = 0
    await harness.sweeper.releaseOwn()
    expect(await harness.state()).toEqual({ balance: 1_000n, held: 0n, ok: true })
  })

  test('keeps no hold of an admission that it carries out after it was given up', async () => {
    await using harness = await openHarness()
    harness.holds.delays = true
    await expect(harness.open(harness.caller, 400n)).rejects.toMatchObject({ code: 'unavailable' })
    harness.holds.delays = false
    await harness.sweeper.releaseOwn()
    await harness.holds.arrive()
    expect(await harness.state()).toEqual({ balance: 1_000n, held: 400n, ok: true })
    await harness.sweeper.releaseOwn()
    expect(await harness.state()).toEqual({ balance: 1_000n, held: 0n, ok: true })
  })

  test('keeps the hold of a request that is under way', async () => {
    await using harness = await openHarness()
    const request = await harness.open(harness.caller, 400n)
    await harness.sweeper.releaseOwn()
    expect(await harness.state()).toEqual({ balance: 1_000n, held: 400n, ok: true })
    expect(await request.settle(usageOf(150n))).toMatchObject({ chargedNanoUsd: 150n })
  })
})
