import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { eventually } from '../support/eventually.ts'
import { type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'
import { createKeyHarness, keySettings } from '../support/key-harness.ts'

const BALANCE = 'subscription { balanceChanged { balances { currency free } } }'
const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const

let harness: GraphqlHarness
let account: GraphqlTestAccount

beforeAll(async () => {
  harness = await startGraphqlHarness({ allowedOrigins: ['https://console.example'] })
  account = await harness.createAccount()
})
afterEach(() => {
  vi.useRealTimers()
})
afterAll(() => harness.close())

const newKey = async (expiresAt: string | null = null) => {
  const issued = await harness.keys.apiKeys.createForAccount(account.accountId, keySettings({ expiresAt }))
  return { secret: issued.secret, id: issued.key.id }
}

/** Timers that are set late, after a reading of the database, go off as well: each look moves the faked ones on a little. */
const untilClosing = ({ webSocket }: GraphqlSocket) =>
  eventually(() => expect(webSocket.readyState).not.toBe(WebSocket.OPEN))

describe('a new socket', () => {
  it.each([
    ['without a credential', undefined],
    ['with a wrong key', { authorization: 'Bearer wrong' }],
    ['with a credential that is no text', { authorization: { bearer: 'x' } }],
  ])('is rejected with 4401: %s', async (_name, payload) => {
    const socket = await GraphqlSocket.open(harness.socketUrl)
    socket.send({ type: 'connection_init', payload })
    expect((await socket.closed).code).toBe(4401)
  })

  it('is rejected if its key is expired: 4401', async () => {
    const { secret } = await newKey('2026-01-15T12:00:01Z')
    harness.clock.advance(2_000)
    const socket = await GraphqlSocket.open(harness.socketUrl)
    socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${secret}` } })
    expect(await socket.closed).toEqual({ code: 4401, reason: 'API key expired' })
  })

  it('is rejected when it subscribes before its connection_init: 4401', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl)
    socket.subscribe('1', BALANCE)
    expect((await socket.closed).code).toBe(4401)
  })

  it('is rejected when no connection_init comes within 3 seconds: 4408', async () => {
    vi.useFakeTimers({ toFake: [...TIMERS] })
    const socket = await GraphqlSocket.open(harness.socketUrl)
    // A pong proves that the server serves the socket and has started its timer.
    socket.send({ type: 'ping' })
    await socket.next()
    await vi.advanceTimersByTimeAsync(2_999)
    expect(socket.webSocket.readyState).toBe(WebSocket.OPEN)
    await vi.advanceTimersByTimeAsync(1)
    expect((await socket.closed).code).toBe(4408)
  })

  it('is rejected if it requests another protocol', async () => {
    const socket = new GraphqlSocket(harness.socketUrl, { protocol: 'graphql-ws' })
    await once(socket.webSocket, 'error')
  })

  it.each([
    ['https://evil.example', false],
    ['https://console.example', true],
    ['null', false],
  ])('from a browser page of %s is rejected unless its origin is allowed', async (origin, allowed) => {
    const socket = new GraphqlSocket(harness.socketUrl, { headers: { origin } })
    const opened = await Promise.race([
      once(socket.webSocket, 'open').then(() => true),
      socket.closed.then(() => false),
    ])
    expect(opened).toBe(allowed)
    await socket.close()
  })

  it('is rejected as the eleventh of its key, and accepted once another has closed', async () => {
    const { secret } = await newKey()
    const sockets: GraphqlSocket[] = []
    for (let i = 0; i < 10; i++) sockets.push(await GraphqlSocket.open(harness.socketUrl, secret))
    const eleventh = await GraphqlSocket.open(harness.socketUrl)
    eleventh.send({ type: 'connection_init', payload: { authorization: `Bearer ${secret}` } })
    expect(await eleventh.closed).toEqual({ code: 4429, reason: 'Too many sockets of this key or wallet' })
    await sockets[0]?.close()
    await eventually(async () => sockets.push(await GraphqlSocket.open(harness.socketUrl, secret)))
    await Promise.all(sockets.map((socket) => socket.close()))
  })
})

describe('unauthenticated sockets of one address', () => {
  it('are at most 3; the next is served once one of them has, or is gone', async () => {
    const { secret } = await newKey()
    const waiting = await Promise.all(Array.from({ length: 3 }, () => GraphqlSocket.open(harness.socketUrl)))
    const refused = new GraphqlSocket(harness.socketUrl)
    const [response] = await once(refused.webSocket, 'unexpected-response').then(([, answer]) => [answer])
    expect(response.statusCode).toBe(429)
    waiting[0]?.send({ type: 'connection_init', payload: { authorization: `Bearer ${secret}` } })
    expect(await waiting[0]?.next()).toEqual({ type: 'connection_ack' })
    const next = await GraphqlSocket.open(harness.socketUrl, secret)
    await waiting[1]?.close()
    await eventually(async () => (await GraphqlSocket.open(harness.socketUrl, secret)).close())
    await Promise.all([next.close(), waiting[0]?.close(), waiting[2]?.close()])
  })
})

describe('an open socket', () => {
  it('is closed with 4403 when its key is revoked', async () => {
    const { secret, id } = await newKey()
    const socket = await GraphqlSocket.open(harness.socketUrl, secret)
    await harness.keys.apiKeys.revoke(account.accountId, id)
    expect(await socket.closed).toEqual({ code: 4403, reason: 'API key revoked' })
  })

  it('is closed with 4403 within 5 seconds when the message that its key was revoked is lost', async () => {
    const { secret, id } = await newKey()
    vi.useFakeTimers({ toFake: [...TIMERS] })
    const socket = await GraphqlSocket.open(harness.socketUrl, secret)
    const unheard = await createKeyHarness(harness.statements.db, { clock: harness.clock })
    await unheard.apiKeys.revoke(account.accountId, id)
    harness.clock.advance(4_000)
    await vi.advanceTimersByTimeAsync(4_000)
    await untilClosing(socket)
    expect((await socket.closed).code).toBe(4403)
  })

  it('is closed with 4403 when its key expires, to the millisecond', async () => {
    const { secret } = await newKey(new Date(harness.clock.nowMs() + 5_000).toISOString())
    vi.useFakeTimers({ toFake: [...TIMERS] })
    const socket = await GraphqlSocket.open(harness.socketUrl, secret)
    const pass = async (ms: number) => {
      harness.clock.advance(ms)
      await vi.advanceTimersByTimeAsync(ms)
    }
    await pass(4_999)
    expect(socket.webSocket.readyState).toBe(WebSocket.OPEN)
    await pass(1)
    await untilClosing(socket)
    expect(await socket.closed).toEqual({ code: 4403, reason: 'API key expired' })
  })

  it('is closed with 4403 at the new instant when its key is given an earlier end', async () => {
    const { secret, id } = await newKey()
    vi.useFakeTimers({ toFake: [...TIMERS] })
    const socket = await GraphqlSocket.open(harness.socketUrl, secret)
    const expiresAt = new Date(harness.clock.nowMs() + 1_000)
    await harness.keys.apiKeys.update(account.accountId, { id, expiresAt })
    harness.clock.advance(1_000)
    await untilClosing(socket)
    expect((await socket.closed).code).toBe(4403)
  })

  it('is closed with 1009 after a message over 64 KiB', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    socket.subscribe('1', `{ __typename } # ${'x'.repeat(64 * 1024)}`)
    expect((await socket.closed).code).toBe(1009)
  })

  it('is closed with 4400 after a message outside the protocol', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    socket.webSocket.send('garbage')
    expect((await socket.closed).code).toBe(4400)
  })

  it('is closed with 4409 after a second operation with the same id', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    socket.subscribe('1', BALANCE)
    socket.subscribe('1', BALANCE)
    expect((await socket.closed).code).toBe(4409)
  })

  it('is closed with 1013 when its client leaves more than 1 MiB unread', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    socket.webSocket.pause()
    const ping = JSON.stringify({ type: 'ping', payload: { filler: 'x'.repeat(60_000) } })
    for (let sent = 0; sent < 400; sent++) socket.webSocket.send(ping)
    await eventually(() => expect(socket.webSocket.bufferedAmount).toBe(0))
    socket.webSocket.resume()
    expect((await socket.closed).code).toBe(1013)
  })

  it('is closed when its client answers no ping for 15 seconds, and not while it does', async () => {
    vi.useFakeTimers({ toFake: [...TIMERS] })
    const alive = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    const dead = new GraphqlSocket(harness.socketUrl, { autoPong: false })
    await once(dead.webSocket, 'open')
    dead.send({ type: 'connection_init', payload: { authorization: `Bearer ${account.adminKey}` } })
    await dead.next()
    for (let interval = 0; interval < 2; interval++) {
      await vi.advanceTimersByTimeAsync(15_000)
      // Its answer comes behind the pong, so the server has read both.
      alive.send({ type: 'ping' })
      await alive.next()
    }
    expect((await dead.closed).code).toBe(1006)
    expect(alive.webSocket.readyState).toBe(WebSocket.OPEN)
    await alive.close()
  })

  it('is closed with 1001 when the server shuts down', async () => {
    const harness = await startGraphqlHarness()
    const { adminKey } = await harness.createAccount()
    const socket = await GraphqlSocket.open(harness.socketUrl, adminKey)
    await harness.graphql.close()
    expect((await socket.closed).code).toBe(1001)
    await harness.close()
  })
})

describe('operations on a socket', () => {
  it('are at most 20 at a time; the next works once one is completed', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    for (let id = 1; id <= 20; id++) {
      socket.subscribe(String(id), BALANCE)
      await socket.next()
    }
    socket.subscribe('21', BALANCE)
    expect(await socket.next()).toMatchObject({
      type: 'error',
      id: '21',
      payload: [{ extensions: { code: 'TOO_MANY_SUBSCRIPTIONS' } }],
    })
    socket.send({ type: 'complete', id: '1' })
    socket.subscribe('22', BALANCE)
    expect(await socket.next()).toMatchObject({ type: 'next', id: '22' })
    await socket.close()
  })

  it('beyond those are rejected with a code, and after 100 rejections the socket is closed', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    for (let id = 0; id < 10_000; id++) socket.subscribe(String(id), BALANCE)
    const refusals: unknown[] = []
    try {
      for (;;) {
        const { type, payload } = await socket.next()
        if (type === 'error') refusals.push((payload as { extensions: { code: string } }[])[0]?.extensions.code)
      }
    } catch {
      expect(await socket.closed).toMatchObject({ code: 4429 })
    }
    expect(refusals.length).toBeGreaterThan(90)
    expect(new Set(refusals)).toEqual(new Set(['TOO_MANY_SUBSCRIPTIONS']))
  })

  it('are limited as over HTTP', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    const code = async (query: string) => {
      socket.subscribe('1', query)
      const { payload } = await socket.next()
      const errors = Array.isArray(payload) ? payload : (payload as { errors: unknown[] }).errors
      return errors[0]
    }
    const many = Array.from({ length: 16 }, (_, i) => `a${i}: tier`).join(' ')
    expect(await code(`{ viewer { ${many} } }`)).toMatchObject({ extensions: { code: 'TOO_MANY_ALIASES' } })
    expect(await code('{ nothing }')).toEqual(
      expect.objectContaining({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }),
    )
    await socket.close()
  })

  it('serve queries and mutations as well', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.inferenceKey)
    socket.subscribe('1', '{ viewer { accountId name } }')
    expect(await socket.next()).toMatchObject({
      type: 'next',
      payload: { errors: [{ extensions: { code: 'FORBIDDEN' } }] },
    })
    expect(await socket.next()).toEqual({ type: 'complete', id: '1' })
    await socket.close()
  })
})
