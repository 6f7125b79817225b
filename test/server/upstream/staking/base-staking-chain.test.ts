import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BaseStakingChain } from '../../../../server/upstream/staking/base-staking-chain.ts'
import { STAKING_ADDRESS } from '../../../support/base-chain.ts'
import { startNodeProxy } from '../../../support/node-proxy.ts'
import { addressOf, type StakingTestChain, startStakingChain } from '../../../support/staking-chain.ts'

const [ANN, BEN] = [addressOf(1), addressOf(2)]

let chain: StakingTestChain
beforeAll(async () => {
  chain = await startStakingChain('2026-03-01T20:00:00Z')
  await chain.stake(ANN, 10_000)
  await chain.mineAt('2026-03-01T23:59:58Z')
  await chain.stake(ANN, 2_500)
  await chain.mineAt('2026-03-02T00:00:00Z')
  await chain.stake(ANN, 86_500)
  await chain.mineAt('2026-03-02T00:00:02Z')
  await chain.move(ANN, BEN, 12_500)
  await chain.mineAt('2026-03-02T09:00:00Z')
})
afterAll(() => chain[Symbol.asyncDispose]())

const with18 = (rpcUrl: string) => new BaseStakingChain({ contract: STAKING_ADDRESS, rpcUrl, decimals: 18 })

describe('the stake of a day', () => {
  test('is the stake in the block of midnight, whatever moved since', async () => {
    expect(await chain.reader.stakesAtStartOf('2026-03-02', [BEN, ANN])).toEqual([0n, 12_500_000_000n])
  })

  test('apart from it, the present one can be read', async () => {
    expect(await chain.reader.stakeNow(BEN)).toBe(12_500_000_000n)
  })

  test('is read in order for 450 wallets', async () => {
    const wallets = Array.from({ length: 450 }, (_, index) => addressOf(index))
    const stakes = await with18(chain.base.url).stakesAtStartOf('2026-03-02', wallets)
    expect(stakes.flatMap((stake, index) => (stake > 0n ? [[index, stake]] : []))).toEqual([[1, 12_500_000_000n]])
  })

  test.each([
    [0, 12_500_000_000_000_000_000n * 10n ** 9n],
    [6, 12_500_000_000_000_000_000n * 10n ** 3n],
    [9, 12_500_000_000_000_000_000n],
    [27, 12n],
    [36, 0n],
  ])('is scaled from %i decimals, rounded down', async (decimals, stake) => {
    const reader = new BaseStakingChain({ contract: STAKING_ADDRESS, rpcUrl: chain.base.url, decimals })
    expect(await reader.stakesAtStartOf('2026-03-02', [ANN])).toEqual([stake])
  })

  test('is unknown, not zero, if the node has not reached the day', async () => {
    await expect(chain.reader.stakesAtStartOf('2026-03-03', [ANN])).rejects.toThrow('2026-03-03')
  })

  test('is unknown, not zero, if the node is silent or fails midway', async () => {
    await expect(with18('http://127.0.0.1:9').stakesAtStartOf('2026-03-02', [ANN])).rejects.toThrow()
    await using proxy = await startNodeProxy(chain.base.url)
    proxy.onStage = async (stage, method) => {
      if (stage === 'answered' && method === 'eth_call') throw new Error('cut off')
    }
    await expect(with18(proxy.url).stakesAtStartOf('2026-03-02', [ANN])).rejects.toThrow()
    proxy.onStage = () => {}
    expect(await with18(proxy.url).stakesAtStartOf('2026-03-02', [ANN])).toEqual([12_500_000_000n])
  })

  test('is unknown if there is no contract', async () => {
    const reader = new BaseStakingChain({ contract: addressOf(77), rpcUrl: chain.base.url, decimals: 18 })
    await expect(reader.stakesAtStartOf('2026-03-02', [ANN])).rejects.toThrow()
    await expect(reader.stakeNow(ANN)).rejects.toThrow()
  })
})

describe('the block of midnight', () => {
  test('is found among blocks of any spacing, in few calls', async () => {
    await using busy = await startStakingChain('2026-03-01T12:00:00Z')
    const days = ['2026-03-02', '2026-03-03', '2026-03-04']
    const expected: bigint[] = []
    let staked = 0n
    for (const [index, day] of days.entries()) {
      const midnightSeconds = Date.parse(`${day}T00:00:00Z`) / 1_000
      for (const before of [9_000, 4_001, 4_000, 77, 3, index]) {
        await busy.stake(ANN, before + 1)
        staked += BigInt(before + 1)
        await busy.mineAt(new Date((midnightSeconds - before) * 1_000).toISOString())
      }
      expected.push(staked * 1_000_000n)
      await busy.stake(ANN, 1)
      staked += 1n
      await busy.mineAt(new Date((midnightSeconds + 1 + index) * 1_000).toISOString())
      await busy.base.client.mine({ blocks: 150, interval: 1 })
    }
    await using proxy = await startNodeProxy(busy.base.url)
    let calls = 0
    proxy.onStage = (stage) => {
      if (stage === 'asked') calls++
    }
    for (const [index, day] of days.entries()) {
      calls = 0
      expect(await with18(proxy.url).stakesAtStartOf(day, [ANN])).toEqual([expected[index]])
      expect(calls).toBeLessThanOrEqual(20)
    }
  })
})
