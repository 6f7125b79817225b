import { createClient } from 'redis'

const DEFAULT_URL = 'redis://127.0.0.1:6379'
const CONNECT_TIMEOUT_MS = 3_000

export async function findRedis(): Promise<{ url: string } | { missing: string }> {
  const url = process.env['TEST_REDIS_URL'] || DEFAULT_URL
  const client = createClient({ url, socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false } })
  // The failure arrives as the rejection of connect(); without a listener the same one would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.ping()
    return { url }
  } catch (error) {
    return { missing: `Redis does not answer at ${new URL(url).host}: ${String(error)}` }
  } finally {
    client.destroy()
  }
}
