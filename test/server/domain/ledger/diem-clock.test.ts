import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LEDGER_INSTANT } from '../../../../server/db/functions/ledger-instant.ts'
import { DAY_MS, systemClock } from '../../../../server/domain/clock.ts'
import { createTestDatabase, EITHER_ENGINE, hasEngine } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness } from '../../../support/money-harness.ts'

const STAKE_NANO = 1_000n

describe.each(EITHER_ENGINE)('a process whose clock is a day wrong, on %s', (engine) => {
  describe.runIf(hasEngine(engine))('', () => {
    /** Three processes on one database, whose own clock decides. */
    async function openProcesses() {
      const database = await createTestDatabase(engine)
      await sql.raw(LEDGER_INSTANT).execute(database.db)
      const nowMs = systemClock.nowMs()
      const at = (offsetMs: number) =>
        createMoneyHarness(database.db, createFakeClock(new Date(nowMs + offsetMs).toISOString()))
      return {
        right: at(0),
        ahead: at(DAY_MS),
        behind: at(-DAY_MS),
        db: database.db,
        [Symbol.asyncDispose]: database.close,
      }
    }

    const diemOf = async (money: MoneyHarness, accountId: string) =>
      (await money.ledger.balances(accountId)).find(({ currency }) => currency === 'diem')?.balanceNanoUsd

    test.each(['ahead', 'behind'] as const)('grants no second allowance when it is %s', async (skew) => {
      await using processes = await openProcesses()
      const { accountId } = await processes.right.addCaller({ stakeNano: STAKE_NANO })
      await processes[skew].ledger.balances(accountId)
      await processes[skew].ledger.stakeChanged(accountId)
      await processes.right.ledger.balances(accountId)
      const { items } = await processes.right.ledger.listTransfers(accountId, { first: 10 })
      expect(items.map(({ kind, amountNanoUsd }) => [kind, amountNanoUsd])).toEqual([['diem_allowance', STAKE_NANO]])
    })

    test.each(['ahead', 'behind'] as const)('expires no allowance when it is %s', async (skew) => {
      await using processes = await openProcesses()
      const caller = await processes[skew].addCaller({ stakeNano: STAKE_NANO })
      const request = await processes[skew].open(caller, STAKE_NANO)
      await request.release()
      expect(await diemOf(processes[skew], caller.accountId)).toBe(STAKE_NANO)
      expect(await diemOf(processes.right, caller.accountId)).toBe(STAKE_NANO)
    })

    test.each(['ahead', 'behind'] as const)('reports the allowance of the current day when it is %s', async (skew) => {
      await using processes = await openProcesses()
      const { accountId } = await processes.right.addCaller({ stakeNano: STAKE_NANO })
      const epoch = await processes[skew].ledger.diemEpoch(accountId)
      expect(epoch).toEqual(await processes.right.ledger.diemEpoch(accountId))
      expect(epoch.allocationNano).toBe(STAKE_NANO)
    })
  })
})
