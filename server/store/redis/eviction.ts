import type { Log } from '../../domain/log.ts'
import { withDeadline } from '../deadline.ts'
import type { RedisClient } from './redis-client.ts'

const DEADLINE_MS = 500

/** Warns if the server may evict keys when its memory is full: an evicted rate window admits its whole limit again. */
export async function warnOfEviction(client: Pick<RedisClient, 'info'>, log: Log): Promise<void> {
  try {
    // CONFIG is often forbidden.
    const info = await withDeadline(client.info('memory'), DEADLINE_MS)
    const maxmemory = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0)
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction'
    if (maxmemory === 0 || policy === 'noeviction') return
    log.warn('Redis may evict rate windows; an evicted window admits its whole limit again', {
      maxmemoryPolicy: policy,
      fix: 'set maxmemory-policy to noeviction',
    })
  } catch {
    // The server is unavailable, which is reported elsewhere, or does not expose its policy.
  }
}
