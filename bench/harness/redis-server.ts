import { createClient } from 'redis'
import { ENVIRONMENT } from './environment.ts'

export const REDIS_URL = ENVIRONMENT.redisUrl

async function connect() {
  const client = createClient({ url: REDIS_URL, socket: { reconnectStrategy: false } })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Process id of the Redis server; none if it runs on another machine or is not visible. */
export async function findRedisProcess(): Promise<number[]> {
  const client = await connect()
  const info = await client.info('server')
  client.destroy()
  return [Number(/^process_id:(\d+)/m.exec(info)?.[1])].filter((pid) => pid > 0)
}

/** Otherwise windows of a day would remain for a day. */
export async function deleteKeys(keyPrefix: string): Promise<void> {
  const client = await connect()
  for await (const keys of client.scanIterator({ MATCH: `${keyPrefix}:*`, COUNT: 1_000 })) {
    if (keys.length > 0) await client.unlink(keys)
  }
  client.destroy()
}
