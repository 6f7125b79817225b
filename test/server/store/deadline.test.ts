import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DeadlineExceeded, withDeadline } from '../../../server/store/deadline.ts'

const never = new Promise<never>(() => {})

describe('a deadline', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('passes on what arrives in time, good or bad', async () => {
    expect(await withDeadline(Promise.resolve('answer'), 50)).toBe('answer')
    await expect(withDeadline(Promise.reject(new Error('refused')), 50)).rejects.toThrow('refused')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends the wait when it is over', async () => {
    const outcome = withDeadline(never, 50).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(60)
    expect(await outcome).toBeInstanceOf(DeadlineExceeded)
  })
})

it('does not count the time in which this process was busy, in however many turns', async () => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = createConnection((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  const response = withDeadline(once(socket, 'data'), 50)
  socket.write('question')
  let turns = 0
  const work = (): void => {
    const untilMs = performance.now() + 60
    while (performance.now() < untilMs);
    if (++turns < 3) setTimeout(work, 0)
  }
  work()
  await expect(response).resolves.toHaveLength(1)
  socket.destroy()
  server.close()
})
