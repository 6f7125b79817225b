import { describe, expect, test } from 'vitest'
import { Subscription } from '../../../client/sdk/live/subscription.ts'

/** A subscription to numbers; results that are no number are errors. */
function subscribe(options: { newestOnly?: true } = {}) {
  const drained: number[] = []
  let left = 0
  const subscription = new Subscription<number>(
    {
      query: 'subscription { numbers }',
      toVariables: (last) => ({ after: last }),
      toEvent: (result) => {
        if (typeof result !== 'number') throw new TypeError('no number')
        return result
      },
      ...options,
    },
    { onDrained: () => void drained.push(1), onLeft: () => void left++ },
  )
  return { subscription, drained, left: () => left }
}

describe('a subscription', () => {
  test('keeps events in order for a late reader', async () => {
    const { subscription } = subscribe()
    for (const number of [1, 2, 3]) subscription.push(number)
    expect([await subscription.next(), await subscription.next()].map(({ value }) => value)).toEqual([1, 2])
    expect(subscription.toPayload()).toMatchObject({ variables: { after: 3 } })
  })

  test('pauses behind a slow reader, and asks for more from the last event when all are read', async () => {
    const { subscription, drained } = subscribe()
    let pushed = 0
    while (!subscription.isPaused) subscription.push(++pushed)
    for (let read = 1; read < pushed; read++) await subscription.next()
    expect(drained).toEqual([])
    expect((await subscription.next()).value).toBe(pushed)
    expect(drained).toEqual([1])
    expect(subscription.isPaused).toBe(false)
    expect(subscription.toPayload()).toMatchObject({ variables: { after: pushed } })
  })

  test('never pauses if only its newest event matters', async () => {
    const { subscription } = subscribe({ newestOnly: true })
    for (let pushed = 0; pushed < 5_000; pushed++) subscription.push(pushed)
    expect(subscription.isPaused).toBe(false)
    expect((await subscription.next()).value).toBe(4_999)
  })

  test('gives what waits before its end, and its error once', async () => {
    const { subscription } = subscribe()
    subscription.push(1)
    subscription.push('no number')
    expect(await subscription.next()).toEqual({ done: false, value: 1 })
    await expect(subscription.next()).rejects.toThrow('unknown format')
    expect(await subscription.next()).toEqual({ done: true, value: undefined })
  })

  test('serves readers that wait at the same time, each with an event of its own', async () => {
    const { subscription } = subscribe()
    const readers = [subscription.next(), subscription.next()]
    subscription.push(1)
    subscription.push(2)
    expect(new Set((await Promise.all(readers)).map(({ value }) => value))).toEqual(new Set([1, 2]))
  })

  test('ends for every waiting reader when one leaves', async () => {
    const { subscription, left } = subscribe()
    const waiting = subscription.next()
    await subscription.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(left()).toBe(1)
  })
})
