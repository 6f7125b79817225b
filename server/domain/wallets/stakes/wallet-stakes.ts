import { type Clock, utcDay } from '../../clock.ts'
import type { IdSource } from '../../ids.ts'
import type { Log } from '../../log.ts'
import { RecentCache } from '../../recent-cache.ts'
import type { SingleUseStore } from '../sign-in/single-use-store.ts'
import type { WalletAddress } from '../wallet-address.ts'
import type { StakingChain } from './staking-chain.ts'
import type { WalletStakeRepository } from './wallet-stake-repository.ts'

/** One call of the node asks for so many. */
const BATCH_WALLETS = 200
/** Bounds one turn; the next one goes on. */
const BATCHES_PER_TURN_MAX = 50
const WAITING_MAX = 10_000
const REMEMBERED_WALLETS_MAX = 100_000
/** Wallets that come together are read together. */
const COLLECT_MS = 200

export interface WalletStakesDeps {
  /** Null: no staking contract is configured. */
  chain: StakingChain | null
  stakes: WalletStakeRepository
  balanceFeed: { changed(accountId: string): void }
  /** Lets one process of all take a turn. */
  turns: Pick<SingleUseStore, 'claim'>
  refreshSeconds: number
  clock: Clock
  ids: IdSource
  log: Log
}

/**
 * Turns what wallets have staked on Base into their accounts' daily DIEM. The block
 * with which a UTC day began decides: stake that came later counts from the next day, and stake that left stays until
 * then. Reading happens apart from requests; while the node is down, nothing that stands changes.
 */
export class WalletStakes {
  readonly #deps: WalletStakesDeps
  /** The day of which a wallet was read last. */
  readonly #readDay = new RecentCache<string>({ entriesMax: REMEMBERED_WALLETS_MAX })
  readonly #waiting = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  /** A node that failed is asked again by the next refresh, not by every wallet that comes. */
  #isDown = false
  #reading: Promise<void> = Promise.resolve()

  constructor(deps: WalletStakesDeps) {
    this.#deps = deps
  }

  get configured(): boolean {
    return this.#deps.chain !== null
  }

  /** A wallet proved itself: its stake of the day is read soon, unless it was. Costs the request nothing. */
  notice({ chain, address }: WalletAddress): void {
    if (this.#deps.chain === null || chain !== 'evm') return
    if (this.#readDay.get(address) === utcDay(this.#deps.clock.now()) || this.#waiting.size >= WAITING_MAX) return
    this.#waiting.add(address)
    if (this.#isDown) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#readWaiting().catch((error: unknown) =>
        this.#deps.log.warn('stake could not be read; this is retried', { error }),
      )
    }, COLLECT_MS).unref()
  }

  /** What the wallet has staked now, in nano-DIEM; zero where there is nothing to stake in. Fails when the node does not answer. */
  async stakeNow({ chain, address }: WalletAddress): Promise<bigint> {
    return this.#deps.chain === null || chain !== 'evm' ? 0n : this.#deps.chain.stakeNow(address)
  }

  /** Reads every wallet that waits, and those known from earlier days or by a link, in one process at a time. */
  async refresh(): Promise<void> {
    if (this.#deps.chain === null) return
    await this.#readWaiting()
    if (!(await this.#takesTurn())) return
    for (let batch = 0; batch < BATCHES_PER_TURN_MAX; batch++) {
      const day = utcDay(this.#deps.clock.now())
      const due = await this.#deps.stakes.listDue(day, BATCH_WALLETS)
      await this.#read(due, { keepZero: true })
      if (due.length < BATCH_WALLETS) return
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    this.#waiting.clear()
    await this.#reading.catch(() => undefined)
  }

  /** One reading at a time; what the node refused goes on waiting. */
  #readWaiting(): Promise<void> {
    this.#reading = this.#drain(this.#reading)
    return this.#reading
  }

  async #drain(before: Promise<void>): Promise<void> {
    await before.catch(() => undefined)
    this.#isDown = true
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, BATCH_WALLETS)
      await this.#read(batch, { keepZero: false })
      for (const address of batch) this.#waiting.delete(address)
    }
    this.#isDown = false
  }

  /** A wallet without stake leaves nothing in the database unless it stands there already. */
  async #read(addresses: readonly string[], { keepZero }: { keepZero: boolean }): Promise<void> {
    const { chain, stakes, balanceFeed, clock, ids } = this.#deps
    if (chain === null || addresses.length === 0) return
    const day = utcDay(clock.now())
    const read = await chain.stakesAtStartOf(day, addresses)
    for (const [index, address] of addresses.entries()) {
      const stakeNano = countedStake(read[index] ?? 0n)
      if (stakeNano > 0n || keepZero) {
        const reading = { address, day, stakeNano, readAt: clock.now(), newId: () => ids.uuid() }
        const accountId = await stakes.record(reading)
        if (accountId !== undefined && stakeNano > 0n) balanceFeed.changed(accountId)
      }
      this.#readDay.set(address, day)
    }
  }

  async #takesTurn(): Promise<boolean> {
    const { turns, clock, refreshSeconds } = this.#deps
    const turn = Math.floor(clock.nowMs() / (refreshSeconds * 1_000))
    // Reading twice is harmless: where nobody can tell, everybody reads.
    return turns.claim(`stake-turn:${turn}`, refreshSeconds * 2_000).catch(() => true)
  }
}

const STAKE_NANO_MIN = 100_000_000n
/** Far above any real stake, and far below what a balance can hold. */
const STAKE_NANO_MAX = 100_000_000n * 1_000_000_000n

/** Less than 0.1 counts as nothing. */
function countedStake(stakeNano: bigint): bigint {
  if (stakeNano < STAKE_NANO_MIN) return 0n
  return stakeNano < STAKE_NANO_MAX ? stakeNano : STAKE_NANO_MAX
}
