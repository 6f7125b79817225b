import { createClient } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { LedgerRepository } from '../../server/domain/ledger/ledger-repository.ts'
import { type Json, readEventStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { codes, type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { keySettings } from '../support/key-harness.ts'

const SUBSCRIPTION = 'subscription { balanceChanged { accountId balances { currency balance held free freeNanoUsd } } }'

let harness: GraphqlHarness
let account: GraphqlTestAccount

beforeAll(async () => {
  harness = await startGraphqlHarness()
})
afterEach(() => {
  vi.useRealTimers()
})
afterAll(() => harness.close())

const grant = (amountNanoUsd: bigint) =>
  harness.money.ledger.grant({ accountId: account.accountId, amountNanoUsd, reason: 'test' })

const openStream = (key: string | undefined, signal?: AbortSignal) =>
  fetch(harness.url, {
    method: 'POST',
    body: JSON.stringify({ query: SUBSCRIPTION }),
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    ...(signal === undefined ? {} : { signal }),
  })

/** Events of an event stream, each in the form that a socket gives. */
async function* streamOf(key: string): AsyncGenerator<Json, void> {
  for await (const { event, data } of readEventStream(await openStream(key))) if (event === 'next') yield data
}

async function* socketOf(key: string): AsyncGenerator<Json, void> {
  const client = createClient({
    url: harness.socketUrl,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
    retryAttempts: 0,
  })
  try {
    yield* client.iterate({ query: SUBSCRIPTION })
  } finally {
    await client.dispose()
  }
}

describe.each([
  ['over graphql-transport-ws', socketOf],
  ['as an event stream', streamOf],
])('balanceChanged %s', (_name, subscribe) => {
  beforeAll(async () => {
    account = await harness.createAccount(1_500_000_000n)
  })

  it('gives the current value first, then the value after a commit', async () => {
    const events = subscribe(account.inferenceKey)
    const next = async () => (await events.next()).value.data.balanceChanged
    expect(await next()).toEqual({
      accountId: account.accountId,
      balances: [{ currency: 'USD', balance: '1.5', held: '0', free: '1.5', freeNanoUsd: '1500000000' }],
    })
    await grant(-400_000_001n)
    expect((await next()).balances).toMatchObject([{ free: '1.099999999', freeNanoUsd: '1099999999' }])
    await events.return()
  })

  it('shows what running requests hold', async () => {
    const { accountId, inferenceKey } = await harness.createAccount(1_000_000_000n)
    const events = subscribe(inferenceKey)
    await events.next()
    const metered = await harness.money.open(await harness.keys.auth.authenticateKey(inferenceKey), 250_000_000n)
    const { value } = await events.next()
    expect(value.data.balanceChanged).toMatchObject({
      accountId,
      balances: [{ currency: 'USD', balance: '1', held: '0.25', free: '0.75' }],
    })
    await metered.release()
    await events.return()
  })

  it('joins changes in quick succession into one event with the newest value', async () => {
    const { accountId, inferenceKey } = await harness.createAccount(1_000_000_000n)
    const events = subscribe(inferenceKey)
    await events.next()
    const committed = Promise.withResolvers<void>()
    const { balancesOf } = LedgerRepository.prototype
    using read = vi.spyOn(LedgerRepository.prototype, 'balancesOf').mockImplementation(async function (
      this: LedgerRepository,
      ids,
    ) {
      await committed.promise
      return balancesOf.call(this, ids)
    })
    const change = () => harness.money.ledger.grant({ accountId, amountNanoUsd: 1n, reason: 'test' })
    await change()
    // The first change is read at once, and that takes until all others are committed.
    await eventually(() => expect(read).toHaveBeenCalled())
    for (let step = 1; step < 20; step++) await change()
    committed.resolve()
    const seen: unknown[] = []
    for await (const { data } of events) {
      seen.push(data.balanceChanged.balances[0].freeNanoUsd)
      if (seen.at(-1) === '1000000020') break
    }
    expect(seen).toEqual(['1000000020'])
  })

  it('says nothing of commits that leave the balance as it was', async () => {
    const { accountId, inferenceKey } = await harness.createAccount(1_000_000_000n)
    const events = subscribe(inferenceKey)
    await events.next()
    using read = vi.spyOn(LedgerRepository.prototype, 'balancesOf')
    harness.money.accountChanges.changed(accountId)
    await eventually(() => expect(read.mock.settledResults).not.toEqual([]))
    await harness.money.ledger.grant({ accountId, amountNanoUsd: 3n, reason: 'test' })
    const { value } = await events.next()
    expect(value.data.balanceChanged.balances).toMatchObject([{ freeNanoUsd: '1000000003' }])
    await events.return()
  })
})

describe('an event stream', () => {
  beforeAll(async () => {
    account = await harness.createAccount()
  })

  const newKey = async (expiresAt: string | null = null) => {
    const issued = await harness.keys.apiKeys.createForAccount(account.accountId, keySettings({ expiresAt }))
    return { secret: issued.secret, id: issued.key.id }
  }
  const last = async (events: AsyncIterable<{ event: string; data: Json }>) => {
    const rest = []
    for await (const event of events) rest.push(event)
    return rest
  }

  it('needs a key', async () => {
    const [event] = await last(readEventStream(await openStream(undefined)))
    expect(codes(event?.data)).toEqual(['UNAUTHENTICATED'])
  })

  it('ends with an error when its key is revoked', async () => {
    const { secret, id } = await newKey()
    const events = readEventStream(await openStream(secret))
    await events.next()
    await harness.keys.apiKeys.revoke(account.accountId, id)
    expect(await last(events)).toMatchObject([
      { event: 'next', data: { errors: [{ message: 'API key revoked', extensions: { code: 'UNAUTHENTICATED' } }] } },
      { event: 'complete' },
    ])
  })

  it('ends with an error when its key expires', async () => {
    const { secret } = await newKey(new Date(harness.clock.nowMs() + 5_000).toISOString())
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const events = readEventStream(await openStream(secret))
    await events.next()
    harness.clock.advance(5_000)
    await vi.advanceTimersByTimeAsync(5_000)
    const seen: unknown[] = []
    void last(events).then((rest) => seen.push(...rest))
    // Moves the faked timers on: the one that ends the stream may be set late.
    await eventually(() => expect(seen).not.toEqual([]))
    expect(seen).toMatchObject([
      { event: 'next', data: { errors: [{ message: 'API key expired' }] } },
      { event: 'complete' },
    ])
  })

  it('is rejected as the eleventh of its key, and served once another has ended', async () => {
    const { secret } = await newKey()
    const leave = new AbortController()
    const streams = await Promise.all(
      Array.from({ length: 10 }, (_, i) => openStream(secret, i === 0 ? leave.signal : undefined)),
    )
    const [refused] = await last(readEventStream(await openStream(secret)))
    expect(codes(refused?.data)).toEqual(['TOO_MANY_CONNECTIONS'])
    leave.abort()
    await eventually(async () => {
      const stream = await openStream(secret)
      const { value } = await readEventStream(stream).next()
      expect(value?.data.errors).toBeUndefined()
    })
    for (const stream of streams.slice(1)) await stream.body?.cancel()
  })

  it('completes when the server goes, and none begins after', async () => {
    const own = await startGraphqlHarness()
    const { adminKey } = await own.createAccount()
    const response = await own.post(JSON.stringify({ query: SUBSCRIPTION }), {
      accept: 'text/event-stream',
      authorization: `Bearer ${adminKey}`,
    })
    const events = readEventStream(response)
    await events.next()
    await own.graphql.close()
    expect((await last(events)).map(({ event }) => event)).toEqual(['complete'])
    const late = await own.post(JSON.stringify({ query: SUBSCRIPTION }), {
      accept: 'text/event-stream',
      authorization: `Bearer ${adminKey}`,
    })
    expect(codes((await last(readEventStream(late)))[0]?.data)).toEqual(['UNAVAILABLE'])
    await own.close()
  })

  it('is not given to a client that did not ask for one', async () => {
    const response = await harness.post(JSON.stringify({ query: SUBSCRIPTION }), {
      accept: 'application/json',
      authorization: `Bearer ${account.adminKey}`,
    })
    expect([response.status, await response.text()]).toEqual([406, ''])
  })
})
