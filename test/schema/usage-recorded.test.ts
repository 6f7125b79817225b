import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../support/event-stream.ts'
import { type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'
import { usageOf } from '../support/money-harness.ts'

let harness: GraphqlHarness
let account: GraphqlTestAccount
let socket: GraphqlSocket

beforeAll(async () => {
  harness = await startGraphqlHarness()
})
beforeEach(async () => {
  account = await harness.createAccount()
  socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
})
afterAll(() => harness.close())

async function settle(chargeNanoUsd: bigint): Promise<void> {
  const metered = await harness.money.open(await harness.keys.auth.authenticateKey(account.inferenceKey), 250_000n)
  await metered.settle(usageOf(chargeNanoUsd))
}

const subscribe = (id: string, after?: string) => {
  const args = after === undefined ? '' : `(after: ${JSON.stringify(after)})`
  socket.subscribe(id, `subscription { usageRecorded${args} { requests { sku chargeNanoUsd } cursor missed } }`)
}
const next = async (): Promise<Json> => {
  const { type, payload } = await socket.next()
  expect([type, (payload as Json).errors]).toEqual(['next', undefined])
  return (payload as Json).data.usageRecorded
}
/** Charges of the next events until there are as many. */
const take = async (count: number): Promise<{ charges: number[]; cursor: string }> => {
  const charges: number[] = []
  let cursor = ''
  while (charges.length < count) {
    const event = await next()
    charges.push(...event.requests.map((request: Json) => Number(request.chargeNanoUsd)))
    cursor = event.cursor
  }
  return { charges, cursor }
}
const upTo = (count: number, from = 1) => Array.from({ length: count }, (_, index) => index + from)

describe('usageRecorded', () => {
  it('begins with its current cursor, then returns each settled request once and in order', async () => {
    subscribe('1')
    expect(await next()).toMatchObject({ requests: [], missed: false })
    for (const charge of upTo(20)) await settle(BigInt(charge))
    expect((await take(20)).charges).toEqual(upTo(20))
  })

  it('includes requests that cost nothing, and none of other accounts', async () => {
    subscribe('1')
    await next()
    const stranger = await harness.createAccount()
    const other = await harness.money.open(await harness.keys.auth.authenticateKey(stranger.inferenceKey), 250_000n)
    await other.settle(usageOf(7n))
    const metered = await harness.money.open(await harness.keys.auth.authenticateKey(account.inferenceKey), 250_000n)
    await metered.release(usageOf(0n, { outcome: 'upstream_failed' }))
    expect((await take(1)).charges).toEqual([0])
  })

  it('continues behind a cursor after a reconnect, without a gap and without a repeat', async () => {
    subscribe('1')
    await next()
    for (const charge of upTo(3)) await settle(BigInt(charge))
    const { cursor } = await take(3)
    await socket.close()
    for (const charge of upTo(250, 4)) await settle(BigInt(charge))
    socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    const live = (async () => {
      for (const charge of upTo(50, 254)) await settle(BigInt(charge))
    })()
    subscribe('1', cursor)
    expect(await next()).toMatchObject({ requests: [], missed: false })
    expect((await take(300)).charges).toEqual(upTo(300, 4))
    await live
  })

  it('gives the 1,000 newest and says so when more was missed', async () => {
    subscribe('1')
    const { cursor } = await next()
    socket.send({ type: 'complete', id: '1' })
    for (let start = 1; start <= 1_050; start += 150) {
      await Promise.all(upTo(150, start).map((charge) => settle(BigInt(charge))))
    }
    subscribe('2', cursor)
    expect(await next()).toMatchObject({ requests: [], missed: true })
    expect((await take(1_000)).charges.toSorted((a, b) => a - b)).toEqual(upTo(1_000, 51))
  })

  it('gives its watchers the same events over several processes', async () => {
    const watchers = await Promise.all(upTo(3).map(() => GraphqlSocket.open(harness.socketUrl, account.adminKey)))
    const events = await Promise.all(
      watchers.map(async (watcher) => {
        watcher.subscribe('1', 'subscription { usageRecorded { requests { requestId } cursor } }')
        await watcher.next()
        return watcher
      }),
    )
    await settle(5n)
    const seen = await Promise.all(events.map(async (watcher) => (await watcher.next()).payload))
    expect(new Set(seen.map((payload) => JSON.stringify(payload))).size).toBe(1)
    await Promise.all(watchers.map((watcher) => watcher.close()))
  })

  it.each([['x'], ['']])('rejects the cursor %j', async (after) => {
    subscribe('1', after)
    expect(await socket.next()).toMatchObject({
      payload: { errors: [{ extensions: { code: 'BAD_USER_INPUT', field: 'after' } }] },
    })
  })

  it('is rejected to an INFERENCE key', async () => {
    const other = await GraphqlSocket.open(harness.socketUrl, account.inferenceKey)
    other.subscribe('1', 'subscription { usageRecorded { cursor } }')
    expect(await other.next()).toMatchObject({ payload: { errors: [{ extensions: { code: 'FORBIDDEN' } }] } })
    await other.close()
  })
})
