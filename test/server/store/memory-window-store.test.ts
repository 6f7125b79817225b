import { expect, it } from 'vitest'
import { MemoryWindowStore } from '../../../server/store/memory/memory-window-store.ts'
import { charge, START_MS } from './window-fixtures.ts'

it('keeps what was consumed when the clock is set back by more than the window, and then runs on', async () => {
  const store = new MemoryWindowStore()
  const one = charge({ limit: 10, weight: 8 })
  await store.consume([one], START_MS)
  const back = START_MS - 3_600_000
  expect(await store.consume([one], back)).toMatchObject({ admitted: false, retryAtMs: back + 60_000 })
  expect(await store.consume([one], back + 60_000)).toMatchObject({ admitted: true })
})

it('keeps the windows of busy callers while many idle ones come and go', async () => {
  const store = new MemoryWindowStore()
  const busy = charge({ limit: 10_000 })
  for (let count = 1; count <= 5_000; count += 1) {
    const atMs = START_MS + count * 5
    await store.consume([busy, charge()], atMs)
    expect((await store.peek([busy], atMs))[0]?.remaining).toBe(10_000 - count)
  }
})
