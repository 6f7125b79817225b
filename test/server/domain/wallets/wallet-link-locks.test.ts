import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../../server/domain/clock.ts'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { openWalletAccount } from '../../../../server/domain/wallets/wallet-account-repository.ts'
import { WalletLinkRepository } from '../../../../server/domain/wallets/wallet-link-repository.ts'
import { untilBlocked } from '../../../chaos/balance-lock.ts'
import { createTestDatabase, hasEngine } from '../../../support/database.ts'
import { createMoneyHarness } from '../../../support/money-harness.ts'

describe.runIf(hasEngine('postgres'))('linking a wallet', () => {
  test('waits in line with charges of the same accounts, so that neither stops the other permanently', async () => {
    await using database = await createTestDatabase('postgres')
    const { db } = database
    const ids = createIdSource(systemClock)
    const { addCaller, ledger } = createMoneyHarness(db, systemClock)
    const { accountId } = await addCaller({ usdNano: 1_000n, stakeNano: 1_000n })
    const wallet = { chain: 'evm', address: `0x${'ab'.repeat(20)}` } as const
    const ownId = await openWalletAccount(db, wallet, systemClock.now())
    await ledger.grant({ accountId: ownId, amountNanoUsd: 500n, reason: 'test' })
    await db.updateTable('accounts').set({ stake_diem_nano: 700n }).where('account_id', '=', ownId).execute()
    await ledger.stakeChanged(ownId)

    const request = { wallet, accountId, now: systemClock.now(), walletsMax: 20, newId: () => ids.uuid() }
    const charge = await db.transaction().execute(async (trx) => {
      const lock = (currency: string) =>
        sql`select 1 from balances where account_id in (${ownId}::uuid, ${accountId}::uuid) and currency = ${currency}
          order by account_id for update`.execute(trx)
      // A settlement has got so far, and a link comes.
      await lock('diem')
      const link = new WalletLinkRepository(db).link(request)
      await untilBlocked(db)
      await lock('usd')
      return { link }
    })
    expect(await charge.link).toMatchObject({ kind: 'linked', movedNano: { usd: 500n, diem: 700n } })
    const { checks } = await ledger.verify()
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
  })
})
