import type { Address } from 'viem'
import { BaseStakingChain } from '../../server/upstream/staking/base-staking-chain.ts'
import { type BaseChain, DOLLAR_TOKEN_ABI, STAKING_ADDRESS, startBaseChain } from './base-chain.ts'

const TOKEN = 10n ** 18n

export interface StakingTestChain extends AsyncDisposable {
  base: BaseChain
  reader: BaseStakingChain
  /** Adds to the stake of an address, in thousandths of a token; it stands from the next block on. */
  stake: (address: string, milli: number) => Promise<void>
  /** Moves stake by a transaction of its owner; it has moved with the next block. */
  move: (from: string, to: string, milli: number) => Promise<void>
  /** Mines one block of that time, with all that waits. */
  mineAt: (iso: string) => Promise<void>
}

/** Base with a staking contract, whose clock and blocks are the test's to make. */
export async function startStakingChain(startsAt: string): Promise<StakingTestChain> {
  const base = await startBaseChain({ startsAt: new Date(startsAt) })
  const { client } = base
  await base.fund(client.account.address, 10n ** 30n, STAKING_ADDRESS)
  await base.stopMining()
  const transfer = async (account: Address | typeof client.account, to: string, milli: number): Promise<void> => {
    const args = [toAddress(to), (BigInt(milli) * TOKEN) / 1_000n] as const
    const call = { address: STAKING_ADDRESS, abi: DOLLAR_TOKEN_ABI, functionName: 'transfer', args, account } as const
    await client.writeContract({ ...call, gas: 100_000n })
  }
  return {
    base,
    reader: new BaseStakingChain({ contract: STAKING_ADDRESS, rpcUrl: base.url, decimals: 18 }),
    stake: (address, milli) => transfer(client.account, address, milli),
    async move(from, to, milli) {
      const address = toAddress(from)
      await client.impersonateAccount({ address })
      await client.setBalance({ address, value: TOKEN })
      await transfer(address, to, milli)
    },
    async mineAt(iso) {
      await client.setNextBlockTimestamp({ timestamp: BigInt(Date.parse(iso) / 1_000) })
      await client.mine({ blocks: 1 })
    },
    [Symbol.asyncDispose]: base.close,
  }
}

function toAddress(text: string): Address {
  return `0x${text.slice(2)}`
}

/** An address that nobody holds the key of. */
export function addressOf(index: number): string {
  return `0x${(0xabc0000 + index).toString(16).padStart(40, '0')}`
}
