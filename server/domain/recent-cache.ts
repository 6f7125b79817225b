import { LRUCache } from 'lru-cache'

/**
 * A cache of the most recently used entries, whose memory grows with its entries. A limit on the number of entries would
 * make the library allocate for all of them immediately, so each entry counts as one unit of a size limit instead.
 */
export class RecentCache<Value extends {}> extends LRUCache<string, Value> {
  constructor({ entriesMax, lifetimeMs = 0 }: { entriesMax: number; lifetimeMs?: number }) {
    super({ maxSize: entriesMax, sizeCalculation: () => 1, ttl: lifetimeMs })
  }
}
