import { LRUCache } from 'lru-cache'

/**
 * A cache of the entries that were used last, whose memory grows with them. A bound given as a number of entries would
 * have the library allocate for all of them at once, so each entry counts as one unit of its bound on size instead.
 */
export class RecentCache<Value extends {}> extends LRUCache<string, Value> {
  constructor({ entriesMax, lifetimeMs = 0 }: { entriesMax: number; lifetimeMs?: number }) {
    super({ maxSize: entriesMax, sizeCalculation: () => 1, ttl: lifetimeMs })
  }
}
