import { type Clock, utcDay } from '../../clock.ts'
import type { IdSource } from '../../ids.ts'
import type { Log } from '../../log.ts'
import { RecentCache } from '../../recent-cache.ts'
import type { SingleUseStore } from '../sign-in/single-use-store.ts'
import type { WalletAddress } from '../wallet-address.ts'
import type { StakingChain } from './staking-chain.ts'
import type { WalletStakeRepository } from './wallet-stake-repository.ts'

const BATCH_WALLETS = 200
/** Limits one turn; the next one continues. */
const BATCHES_PER_TURN_MAX = 50
const WAITING_MAX = 10_000
const REMEMBERED_WALLETS_MAX = 100_000
/** Wallets that arrive within this time are read together. */
const COLLECT_MS = 200

export interface WalletStakesDeps {
  /** Null if no staking contract is configured. */
  chain: StakingChain | null
  stakes: WalletStakeRepository
  balanceFeed: { changed(accountId: string): void }
  /** Allows only one process to take a turn. */
  turns: Pick<SingleUseStore, 'claim'>
  refreshSeconds: number
  clock: Clock
  ids: IdSource
  log: Log
}

/**
 * Converts the stake of wallets on Base into their accounts' daily DIEM. The block at the start of a UTC day decides:
 * later stake counts from the next day, and withdrawn stake until then. Reading runs apart from requests; while the node
 * is down, existing grants stay.
 */
export class WalletStakes {
  readonly #deps: WalletStakesDeps
  readonly #readDay = new RecentCache<string>({ entriesMax: REMEMBERED_WALLETS_MAX })
  readonly #waiting = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  /** Set after a failure: only the next refresh asks the node again, not every arriving wallet. */
  #isDown = false
  #reading: Promise<void> = Promise.resolve()

  constructor(deps: WalletStakesDeps) {
    this.#deps = deps
  }

  get configured(): boolean {
    return this.#deps.chain !== null
  }

  /**
   * Called when a wallet was authenticated: its stake of the day is read soon, unless known. Does not delay the request.
   */
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

  /** The wallet's current stake in nano-DIEM; zero without a staking contract. Fails if the node does not respond. */
  async stakeNow({ chain, address }: WalletAddress): Promise<bigint> {
    return this.#deps.chain === null || chain !== 'evm' ? 0n : this.#deps.chain.stakeNow(address)
  }

  /** Reads every waiting wallet, and those known from earlier days or linked, in one process at a time. */
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

  /** Runs one reading at a time; wallets that the node failed to report keep waiting. */
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

  /** Does not store a wallet without stake, unless the database already knows it. */
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
    // Reading twice is harmless, so every process reads if the claim fails.
    return turns.claim(`stake-turn:${turn}`, refreshSeconds * 2_000).catch(() => true)
  }
}

const STAKE_NANO_MIN = 100_000_000n
/** Far above any real stake, and far below the maximum of a balance. */
const STAKE_NANO_MAX = 100_000_000n * 1_000_000_000n

/** Stake below 0.1 counts as zero. */
function countedStake(stakeNano: bigint): bigint {
  if (stakeNano < STAKE_NANO_MIN) return 0n
  return stakeNano < STAKE_NANO_MAX ? stakeNano : STAKE_NANO_MAX
}
