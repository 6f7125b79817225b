import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { createMoneyHarness, usageOf } from '../support/money-harness.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { lockBalance, untilBlocked } from './balance-lock.ts'

const SECONDS_MS = 10_000

/** Two processes on one database; the network of the first can fall silent. */
async function openTwoProcesses() {
  const database = await createTestDatabase('postgres')
  const proxy = await startTcpProxy(database.url ?? '')
  const handle = createPostgresDatabase(proxy.url)
  return {
    db: database.db,
    proxy,
    vanishing: { ...createMoneyHarness(handle.db, systemClock), db: handle.db },
    living: createMoneyHarness(database.db, systemClock),
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await handle.close()
      await database.close()
    },
  }
}

describe.runIf(hasEngine('postgres'))('a host that vanishes while it moves money', () => {
  test('leaves no lock behind when it vanishes inside a grant', async () => {
    await using processes = await openTwoProcesses()
    const { db, proxy, vanishing, living } = processes
    const caller = await living.addCaller({ usdNano: 1_000n })
    const { accountId } = caller
    const unlock = await lockBalance(db, accountId)
    const grant = vanishing.ledger.grant({ accountId, amountNanoUsd: 500n, reason: 'test', reference: 'ticket-1' })
    grant.catch(() => undefined)
    await untilBlocked(db)
    proxy.partition()
    await unlock()
    const request = await living.open(caller, 100n)
    await request.settle(usageOf(100n))
    await expect(grant).rejects.toThrow()
    // It was posted before the host vanished or not at all, and a repeat makes sure.
    await living.ledger.grant({ accountId, amountNanoUsd: 500n, reason: 'test', reference: 'ticket-1' })
    const [usd] = await living.ledger.balances(accountId)
    expect(usd?.balanceNanoUsd).toBe(1_400n)
    expect((await living.ledger.verify()).checks.filter(({ ok }) => !ok)).toEqual([])
  })

  test('costs the account seconds when it vanishes inside a transaction', async () => {
    await using processes = await openTwoProcesses()
    const { proxy, vanishing, living } = processes
    const caller = await living.addCaller({ usdNano: 1_000n })
    const held = Promise.withResolvers<void>()
    const transaction = vanishing.db.transaction().execute(async (trx) => {
      await sql`select 1 from balances where account_id = ${caller.accountId} for update`.execute(trx)
      proxy.partition()
      held.resolve()
      await sql`select 1`.execute(trx)
    })
    transaction.catch(() => undefined)
    await held.promise
    const charge = async (): Promise<bigint> => {
      const request = await living.open(caller, 100n)
      return (await request.settle(usageOf(100n))).chargedNanoUsd
    }
    await expect.poll(charge, { timeout: SECONDS_MS }).toBe(100n)
    await expect(transaction).rejects.toThrow()
  })
})
