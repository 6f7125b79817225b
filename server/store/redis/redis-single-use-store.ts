import type { SingleUseStore } from '../../domain/wallets/sign-in/single-use-store.ts'
import { withDeadline } from '../deadline.ts'
import type { RedisClient } from './redis-client.ts'

const DEADLINE_MS = 500

/** Single use over all processes. A server that does not answer in time gives no key to anybody. */
export class RedisSingleUseStore implements SingleUseStore {
  readonly forgetsBeforeMs = null
  readonly #client: RedisClient
  readonly #prefix: string

  constructor({ client, keyPrefix }: { client: RedisClient; keyPrefix: string }) {
    this.#client = client
    this.#prefix = `${keyPrefix}:once:`
  }

  async claim(key: string, ttlMs: number): Promise<boolean> {
    const options = { condition: 'NX', expiration: { type: 'PX', value: ttlMs } } as const
    return (await withDeadline(this.#client.set(this.#prefix + key, '1', options), DEADLINE_MS)) === 'OK'
  }
}
