import { createClient } from 'redis'

export const REDIS_URL = process.env['BENCH_REDIS_URL'] || 'redis://127.0.0.1:6379'

/** Process id of the Redis server; none where it runs on another machine or out of sight. */
export async function findRedisProcess(): Promise<number[]> {
  const client = createClient({ url: REDIS_URL, socket: { reconnectStrategy: false } })
  client.on('error', () => {})
  await client.connect()
  const info = await client.info('server')
  client.destroy()
  return [Number(/^process_id:(\d+)/m.exec(info)?.[1])].filter((pid) => pid > 0)
}
