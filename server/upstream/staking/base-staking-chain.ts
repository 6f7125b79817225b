import type { StakingChain } from '../../domain/wallets/stakes/staking-chain.ts'
import type { EvmClient } from '../chain/evm-client.ts'

/** For one stake. */
const STAKE_DEADLINE_MS = 10_000
/** For the stakes of a day, including the search for its first block. */
const DAY_DEADLINE_MS = 60_000
const NANO_DECIMALS = 9
/** Multicall3 has the same address on every chain. */
const MULTICALL_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'
const BALANCE_OF = [
  {
    type: 'function',
    name: 'balanceOf',
    stateMutability: 'view',
    inputs: [{ name: 'account', type: 'address' }],
    outputs: [{ name: '', type: 'uint256' }],
  },
] as const

export interface StakingSettings {
  /** Contract whose `balanceOf` returns the stake of a wallet. */
  contract: string
  rpcUrl: string
  decimals: number
}

/** Reads the contract through one node of Base; its library is loaded by the first reading. */
export class BaseStakingChain implements StakingChain {
  readonly #settings: StakingSettings
  #connection: ReturnType<typeof connect> | undefined
  #start: { day: string; block: bigint } | undefined

  constructor(settings: StakingSettings) {
    this.#settings = settings
  }

  async stakesAtStartOf(day: string, addresses: readonly string[]): Promise<bigint[]> {
    const client = await this.#open(DAY_DEADLINE_MS)
    const stakes = await client.multicall({
      contracts: addresses.map((address) => ({ ...this.#balanceOf(address) })),
      // One failure must fail all: otherwise an unreachable node would look like wallets without stake.
      allowFailure: false,
      batchSize: 0,
      multicallAddress: MULTICALL_ADDRESS,
      blockNumber: await this.#blockAtStartOf(day, client),
    })
    return stakes.map((stake) => this.#toNano(stake))
  }

  async stakeNow(address: string): Promise<bigint> {
    const client = await this.#open(STAKE_DEADLINE_MS)
    return this.#toNano(await client.readContract(this.#balanceOf(address)))
  }

  #balanceOf(address: string) {
    const contract = toHex(this.#settings.contract)
    return { address: contract, abi: BALANCE_OF, functionName: 'balanceOf', args: [toHex(address)] } as const
  }

  #toNano(amount: bigint): bigint {
    const shift = BigInt(this.#settings.decimals - NANO_DECIMALS)
    return shift < 0n ? amount * 10n ** -shift : amount / 10n ** shift
  }

  /** The newest block at the moment when the day began. */
  async #blockAtStartOf(day: string, client: EvmClient): Promise<bigint> {
    if (this.#start?.day === day) return this.#start.block
    const startSeconds = BigInt(Date.parse(`${day}T00:00:00Z`) / 1_000)
    const head = await client.getBlock()
    if (head.timestamp <= startSeconds) throw new Error(`the node of the staking contract has no block of ${day} yet`)
    const isBefore = async (block: bigint): Promise<boolean> =>
      block === 0n || (await client.getBlock({ blockNumber: block })).timestamp <= startSeconds
    // Blocks are at least a second apart, so this many blocks ago the day had not begun.
    const span = head.timestamp - startSeconds
    let before = head.number > span ? head.number - span : 0n
    if (!(await isBefore(before))) before = 0n
    let after = head.number
    while (after - before > 1n) {
      const middle = (before + after) / 2n
      if (await isBefore(middle)) before = middle
      else after = middle
    }
    this.#start = { day, block: before }
    return before
  }

  /** A client for one reading, which ends with its deadline. */
  async #open(deadlineMs: number): Promise<EvmClient> {
    this.#connection ??= connect(this.#settings.rpcUrl)
    const { client, createScopedClient } = await this.#connection
    return createScopedClient(client, AbortSignal.timeout(deadlineMs))
  }
}

async function connect(rpcUrl: string) {
  const { createEvmClient, createScopedClient } = await import('../chain/evm-client.ts')
  return { client: createEvmClient(rpcUrl), createScopedClient }
}

function toHex(text: string): `0x${string}` {
  return `0x${text.slice(2)}`
}
