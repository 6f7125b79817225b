import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { SingleUseRepository } from '../../../../server/domain/wallets/sign-in/single-use-repository.ts'
import type { StakingChain } from '../../../../server/domain/wallets/stakes/staking-chain.ts'
import { WalletStakeRepository } from '../../../../server/domain/wallets/stakes/wallet-stake-repository.ts'
import { WalletStakes } from '../../../../server/domain/wallets/stakes/wallet-stakes.ts'
import { accountIdOf } from '../../../../server/domain/wallets/wallet-account-id.ts'
import type { WalletAddress } from '../../../../server/domain/wallets/wallet-address.ts'
import { BaseStakingChain } from '../../../../server/upstream/staking/base-staking-chain.ts'
import { STAKING_ADDRESS } from '../../../support/base-chain.ts'
import { createTestDatabase, EITHER_ENGINE, hasEngine, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts'
import { silentLog } from '../../../support/key-harness.ts'
import { createMoneyHarness, type MoneyHarness } from '../../../support/money-harness.ts'
import { addressOf, type StakingTestChain, startStakingChain } from '../../../support/staking-chain.ts'

const DIEM = 1_000_000_000n
const wallet = (index: number): WalletAddress => ({ chain: 'evm', address: addressOf(index) })
const [ANN, BEN, TINY, LATE, GONE] = [wallet(1), wallet(2), wallet(3), wallet(4), wallet(5)]

/** Three days: who had what at each midnight is written beside each block. */
let chain: StakingTestChain
beforeAll(async () => {
  chain = await startStakingChain('2026-03-01T20:00:00Z')
  await chain.stake(ANN.address, 10_000)
  await chain.stake(BEN.address, 2_000)
  await chain.stake(TINY.address, 99)
  await chain.stake(GONE.address, 4_000)
  await chain.mineAt('2026-03-01T23:00:00Z')
  // On the 2nd Ann's ten tokens go through twenty more wallets, Ben adds three, Late stakes and Gone leaves.
  await chain.mineAt('2026-03-02T00:00:01Z')
  for (let hop = 100; hop < 120; hop++)
    await chain.move(hop === 100 ? ANN.address : addressOf(hop - 1), addressOf(hop), 10_000)
  await chain.stake(BEN.address, 3_000)
  await chain.stake(LATE.address, 7_000)
  await chain.move(GONE.address, ANN.address, 4_000)
  await chain.mineAt('2026-03-02T10:00:00Z')
  await chain.mineAt('2026-03-03T00:00:03Z')
})
afterAll(() => chain[Symbol.asyncDispose]())

describe.each(EITHER_ENGINE)('DIEM by stake on Base, on %s', (engine) => {
  describe.runIf(hasEngine(engine))('', () => {
    let database: TestDatabase
    let clock: FakeClock
    let money: MoneyHarness
    beforeEach(async () => {
      database = await createTestDatabase(engine)
      clock = createFakeClock('2026-03-02T12:00:00.000Z')
      money = createMoneyHarness(database.db, clock)
    })
    afterEach(async () => {
      expect((await money.ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
      await database.close()
    })

    /** One process's reader of stakes. */
    function createStakes(reader: StakingChain = chain.reader) {
      return new WalletStakes({
        chain: reader,
        stakes: new WalletStakeRepository(database.db),
        balanceFeed: { changed: () => {} },
        turns: new SingleUseRepository(database.db),
        refreshSeconds: 60,
        clock,
        ids: createIdSource(clock),
        log: silentLog,
      })
    }

    const diemOf = async (owner: WalletAddress | string) => {
      const balances = await money.ledger.balances(typeof owner === 'string' ? owner : accountIdOf(owner))
      return balances.find(({ currency }) => currency === 'diem')?.balanceNanoUsd ?? 0n
    }

    async function readAll(stakes: WalletStakes, wallets: readonly WalletAddress[]) {
      for (const each of wallets) stakes.notice(each)
      await stakes.refresh()
    }

    test('is the stake at midnight, posted to the ledger once for the day', async () => {
      const stakes = createStakes()
      await readAll(stakes, [ANN, BEN])
      expect([await diemOf(ANN), await diemOf(BEN)]).toEqual([10n * DIEM, 2n * DIEM])
      const { items } = await money.ledger.listTransfers(accountIdOf(BEN), { first: 10 })
      expect(items.map(({ kind, amountNanoUsd }) => [kind, amountNanoUsd])).toEqual([['diem_allowance', 2n * DIEM]])
    })

    test('tokens that go through twenty wallets on a day give one allowance', async () => {
      const hops = Array.from({ length: 20 }, (_, hop) => wallet(100 + hop))
      await readAll(createStakes(), [ANN, ...hops])
      const all = await Promise.all([ANN, ...hops].map(diemOf))
      expect(all.reduce((sum, diem) => sum + diem, 0n)).toBe(10n * DIEM)
    })

    test('new stake counts from the next midnight, and withdrawn stake counts until then', async () => {
      const stakes = createStakes()
      const all = [ANN, BEN, LATE, GONE]
      await readAll(stakes, all)
      expect(await Promise.all(all.map(diemOf))).toEqual([10n * DIEM, 2n * DIEM, 0n, 4n * DIEM])
      clock.set('2026-03-03T00:01:00.000Z')
      await readAll(stakes, [LATE])
      expect(await Promise.all(all.map(diemOf))).toEqual([4n * DIEM, 5n * DIEM, 7n * DIEM, 0n])
    })

    test('less than a tenth counts as nothing, and a wallet without stake leaves no row', async () => {
      await readAll(createStakes(), [TINY, LATE, { chain: 'solana', address: '11111111111111111111111111111111' }])
      expect(await database.db.selectFrom('accounts').select('account_id').execute()).toEqual([])
      expect(await database.db.selectFrom('wallet_stakes').selectAll().execute()).toEqual([])
    })

    test('several processes that read a wallet at once grant its stake once', async () => {
      await Promise.all(Array.from({ length: 5 }, () => readAll(createStakes(), [ANN, BEN])))
      expect([await diemOf(ANN), await diemOf(BEN)]).toEqual([10n * DIEM, 2n * DIEM])
    })

    test('an unreachable node takes nothing away, grants nothing, and is queried again later', async () => {
      const working = createStakes()
      await readAll(working, [BEN])
      const cutOff = createStakes(
        new BaseStakingChain({ contract: STAKING_ADDRESS, rpcUrl: 'http://127.0.0.1:9', decimals: 18 }),
      )
      await expect(readAll(cutOff, [ANN])).rejects.toThrow()
      expect([await diemOf(ANN), await diemOf(BEN)]).toEqual([0n, 2n * DIEM])
      clock.set('2026-03-03T00:05:00.000Z')
      await expect(cutOff.refresh()).rejects.toThrow()
      expect(await diemOf(BEN)).toBe(0n)
      await working.refresh()
      expect(await diemOf(BEN)).toBe(5n * DIEM)
    })

    test("includes the operator's stake; changing that today does not grant the wallet's stake again", async () => {
      await readAll(createStakes(), [BEN])
      const set = async (stakeNano: bigint) => {
        const values = { stake_diem_nano: stakeNano }
        await database.db.updateTable('accounts').set(values).where('account_id', '=', accountIdOf(BEN)).execute()
        await money.ledger.stakeChanged(accountIdOf(BEN))
      }
      await set(3n * DIEM)
      expect(await diemOf(BEN)).toBe(5n * DIEM)
      await set(1n * DIEM)
      await set(3n * DIEM)
      expect(await diemOf(BEN)).toBe(5n * DIEM)
      expect(await money.ledger.diemEpoch(accountIdOf(BEN))).toEqual({
        allocationNano: 5n * DIEM,
        endsAt: new Date('2026-03-03T00:00:00.000Z'),
      })
    })

    test('a link moves the stake from the next day on: it is granted once on the day of the link', async () => {
      const stakes = createStakes()
      await readAll(stakes, [BEN])
      const { accountId } = await money.addCaller({ usdNano: 1n })
      await database.db
        .insertInto('wallet_links')
        .values({ wallet_chain: 'evm', wallet_address: BEN.address, account_id: accountId, linked_at: clock.now() })
        .execute()
      await readAll(createStakes(), [BEN])
      expect([await diemOf(BEN), await diemOf(accountId)]).toEqual([2n * DIEM, 0n])
      clock.set('2026-03-03T00:01:00.000Z')
      await stakes.refresh()
      expect([await diemOf(BEN), await diemOf(accountId)]).toEqual([0n, 5n * DIEM])
    })

    test('a new wallet costs its request no call to the chain', async () => {
      let calls = 0
      const counting: StakingChain = {
        stakesAtStartOf: (day, addresses) => {
          calls++
          return chain.reader.stakesAtStartOf(day, addresses)
        },
        stakeNow: (address) => chain.reader.stakeNow(address),
      }
      const stakes = createStakes(counting)
      for (let request = 0; request < 50; request++) stakes.notice(ANN)
      expect(calls).toBe(0)
      await stakes.refresh()
      await readAll(stakes, [ANN, ANN, ANN])
      expect(calls).toBe(1)
      await stakes.stop()
    })
  })
})
