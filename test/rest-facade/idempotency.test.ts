import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { App } from '../../server/app/create-app.ts'
import { startTestApp, type TestAccount, type TestApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { type RpcNodeServer, startRpcNode } from '../support/rpc-node.ts'

/** Of `getBalance` on Solana: 30 credits. */
const PRICE = 30n * 625n
const REQUESTS_PER_MINUTE = 60
const BALANCE = '{"jsonrpc":"2.0","id":9007199254740993,"method":"getBalance","params":["1111"]}'

/** Beyond what a float holds. */
const RESULT = '{"context":{"slot":18446744073709551615},"value":9007199254740993}'

const clock = createFakeClock()
let node: RpcNodeServer
let server: TestApp
/** Null without Redis: two processes would each admit half of a limit. */
let twin: App | null = null
let account: TestAccount

beforeAll(async () => {
  node = await startRpcNode()
  const upstreams = [{ url: node.url }]
  const redisUrl = inject('redisUrl')
  server = await startTestApp({
    overrides: { clock },
    ...(redisUrl === null ? {} : { redisUrl }),
    file: {
      limits: { standard: { rpc: { requestsPerMinute: REQUESTS_PER_MINUTE } } },
      rpc: { publicNodes: false, networks: { 'ethereum-mainnet': { upstreams }, 'solana-mainnet': { upstreams } } },
    },
  })
  if (redisUrl !== null) twin = await server.startTwin()
  // Each process asks each node for its chain, and must not take the faults that are meant for callers.
  await eventually(() => expect(node.calls).toHaveLength(twin === null ? 2 : 4))
})
afterAll(async () => {
  await twin?.close()
  await server.close()
  await node.close()
})
beforeEach(async () => {
  node.calls.length = 0
  node.results.set('getBalance', RESULT)
  server.provider.requests.length = 0
  account = await server.createAccount({ tier: 'standard' })
})
afterEach(() => server.assertLedgerClean())

interface Sent {
  body?: string
  path?: string
  /** Instead of the account's own. */
  adminKey?: string
  /** Origin of the process. */
  at?: string | undefined
  signal?: AbortSignal
}

const post = (key: string, { body = BALANCE, path = '/crypto/rpc/solana-mainnet', ...sent }: Sent = {}) =>
  fetch(`${sent.at ?? server.url}/api/v1${path}`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${sent.adminKey ?? account.adminKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    ...(sent.signal === undefined ? {} : { signal: sent.signal }),
  })

/** Requests of callers that reached the node; the service itself asks for its chain. */
const asked = () => node.calls.filter(({ body }) => !/eth_chainId|getGenesisHash/.test(body)).length
const isReplay = (response: Response) => response.headers.get('idempotent-replayed') === 'true'
const charged = async () => 1_000_000_000n - (await server.balanceNanoUsd(account.accountId))
const rowsOf = (accountId = account.accountId) =>
  server.database.db.selectFrom('idempotency_records').selectAll().where('account_id', '=', accountId).execute()

describe('a JSON-RPC request that is repeated under its key', () => {
  test('gets the first response byte for byte, with its price and request id, and costs nothing more', async () => {
    const first = await post('once')
    const text = await first.text()
    expect(text).toBe(`{"jsonrpc":"2.0","id":9007199254740993,"result":${RESULT}}`)
    const repeat = await post('once')
    expect([repeat.status, await repeat.text(), isReplay(repeat), isReplay(first)]).toEqual([200, text, true, false])
    for (const name of ['x-service-rpc-credits', 'x-service-rpc-cost-usd', 'x-request-id', 'content-type']) {
      expect(repeat.headers.get(name)).toBe(first.headers.get(name))
    }
    expect(repeat.headers.get('cf-ray')).not.toBe(first.headers.get('cf-ray'))
    expect(repeat.headers.get('x-service-balance-usd')).toBe('0.99998125')
    expect([await charged(), asked()]).toEqual([PRICE, 1])
  })

  test.each([
    ['one process', () => [server.url]],
    ['two processes', () => [server.url, twin?.url ?? server.url]],
  ])('fifty times at once over %s calls the node once and is charged once', async (_, urls) => {
    const gate = Promise.withResolvers<void>()
    node.failNext({ kind: 'gate', until: gate.promise })
    const origins = urls()
    const posts = Array.from({ length: 50 }, (_, index) => post('many', { at: origins[index % origins.length] }))
    await expect.poll(() => asked()).toBe(1)
    gate.resolve()
    const answers = await Promise.all(posts)
    const facts = await Promise.all(
      answers.map(async (answer) => [
        answer.status,
        await answer.text(),
        answer.headers.get('x-request-id'),
        answer.headers.get('x-service-rpc-credits'),
        answer.headers.get('x-service-rpc-cost-usd'),
      ]),
    )
    expect(new Set(facts.map((fact) => JSON.stringify(fact))).size).toBe(1)
    expect(facts[0]).toEqual([200, expect.stringContaining('9007199254740993'), expect.any(String), '30', '0.00001875'])
    expect(answers.filter(isReplay)).toHaveLength(49)
    expect([await charged(), asked()]).toEqual([PRICE, 1])
  })

  test('gets the whole batch again if it is a batch', async () => {
    const body = `[${BALANCE},{"jsonrpc":"2.0","id":"b","method":"getSlot"}]`
    const first = await post('batch', { body })
    const text = await first.text()
    const repeat = await post('batch', { body })
    expect([await repeat.text(), repeat.headers.get('x-service-rpc-credits'), isReplay(repeat)]).toEqual([
      text,
      first.headers.get('x-service-rpc-credits'),
      true,
    ])
    expect([await charged(), asked()]).toEqual([35n * 625n, 1])
  })

  test('gets its empty response again if it is a notification', async () => {
    const body = '{"jsonrpc":"2.0","method":"getBalance"}'
    expect((await post('silent', { body })).status).toBe(204)
    const repeat = await post('silent', { body })
    expect([repeat.status, await repeat.text(), isReplay(repeat), asked()]).toEqual([204, '', true, 1])
  })

  test('gets a response of 5 MB again, which was never whole in memory', async () => {
    node.failNext({ kind: 'huge', bytes: 5_000_000 })
    const first = Buffer.from(await (await post('huge')).arrayBuffer())
    const repeat = await post('huge')
    expect(first.equals(Buffer.from(await repeat.arrayBuffer()))).toBe(true)
    expect([first.length, isReplay(repeat), await charged(), asked()]).toEqual([5_000_036, true, PRICE, 1])
  })

  test('gets the error item that it paid for again', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
    await post('item', { body })
    const repeat = await post('item', { body })
    expect([repeat.headers.get('x-service-rpc-credits'), isReplay(repeat), asked()]).toEqual(['5', true, 1])
  })

  test('counts against the requests per minute, and against nothing else', async () => {
    const answers = []
    for (let index = 0; index <= REQUESTS_PER_MINUTE; index++) answers.push(await post('counted'))
    const statuses = answers.map(({ status }) => status)
    expect(statuses).toEqual([...Array.from({ length: REQUESTS_PER_MINUTE }, () => 200), 429])
    expect(answers[1]?.headers.get('x-ratelimit-remaining-requests')).toBe(String(REQUESTS_PER_MINUTE - 2))
    expect(await charged()).toBe(PRICE)
  })

  test('is executed completely although the first client disconnected', async () => {
    const gate = Promise.withResolvers<void>()
    node.failNext({ kind: 'gate', until: gate.promise })
    const client = new AbortController()
    const left = post('left', { signal: client.signal }).catch(() => 'left')
    await expect.poll(() => asked()).toBe(1)
    client.abort()
    expect(await left).toBe('left')
    const repeat = post('left')
    gate.resolve()
    expect([(await repeat).status, isReplay(await repeat)]).toEqual([200, true])
    expect([await charged(), asked()]).toEqual([PRICE, 1])
  })
})

describe('a key', () => {
  test('is rejected with another body or another network, and nothing is executed', async () => {
    await post('mixed')
    const others = [{ body: `${BALANCE} ` }, { path: '/crypto/rpc/ethereum-mainnet' }, { at: twin?.url, body: '{}' }]
    for (const other of others) {
      const refused = await post('mixed', other)
      expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'IDEMPOTENCY_KEY_REUSED' }])
    }
    expect([await charged(), asked()]).toEqual([PRICE, 1])
  })

  test('is rejected while its first request with another body still runs', async () => {
    const gate = Promise.withResolvers<void>()
    node.failNext({ kind: 'gate', until: gate.promise })
    const first = post('early')
    await expect.poll(() => asked()).toBe(1)
    expect((await post('early', { body: '[]' })).status).toBe(400)
    gate.resolve()
    expect((await first).status).toBe(200)
  })

  test('is independent of the same key of another account', async () => {
    await post('shared')
    const other = await server.createAccount()
    const answer = await post('shared', { adminKey: other.adminKey })
    expect([answer.status, isReplay(answer), asked()]).toEqual([200, false, 2])
    expect(await server.balanceNanoUsd(other.accountId)).toBe(1_000_000_000n - PRICE)
  })

  test('counts repeats in the window that an operator set for the API key, and says so', async () => {
    const { accountId } = account
    const { key_id: keyId } = await server.database.db
      .selectFrom('api_keys')
      .select('key_id')
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow()
    await server.app.services.limits.overrides.set({ accountId, keyId, limits: { rpc: { requestsPerMinute: 2 } } })
    await post('limited')
    const repeat = await post('limited')
    const limitOf = ({ status, headers }: Response) => [
      status,
      ...['limit-requests', 'remaining-requests', 'type'].map((name) => headers.get(`x-ratelimit-${name}`)),
    ]
    expect([isReplay(repeat), limitOf(repeat)]).toEqual([true, [200, '2', '0', 'api_key']])
    expect(limitOf(await post('limited'))).toEqual([429, '2', '0', 'api_key'])
    expect([await charged(), asked()]).toEqual([PRICE, 1])
  })

  test.each([' ', '', 'a b', 'ü', 'x'.repeat(256), 'a,b', 'a.b'])('%j is rejected', async (key) => {
    const refused = await post(Buffer.from(key).toString('latin1'))
    expect([refused.status, asked()]).toEqual([400, 0])
    expect(await refused.text()).toContain('1 to 255 characters')
  })

  test('may have 255 characters', async () => {
    const key = `${'aZ09_-'.repeat(42)}abc`
    await post(key)
    expect(isReplay(await post(key))).toBe(true)
  })

  test('is forgotten after 24 hours, and not before', async () => {
    await post('day')
    clock.advance(24 * 3_600_000 - 1)
    expect(isReplay(await post('day'))).toBe(true)
    clock.advance(1)
    const anew = await post('day')
    expect([anew.status, isReplay(anew), asked()]).toEqual([200, false, 2])
    expect(await charged()).toBe(2n * PRICE)
    clock.advance(24 * 3_600_000)
    await server.app.services.idempotency.maintain()
    expect(await rowsOf()).toEqual([])
  })
})

describe('a request that failed and was not charged is not kept:', () => {
  test('the next one is executed', async () => {
    node.failNext({ kind: 'html' })
    const failed = await post('failed')
    expect([failed.status, failed.headers.has('x-service-rpc-credits'), await rowsOf()]).toEqual([500, false, []])
    const retry = await post('failed')
    expect([retry.status, isReplay(retry), await charged()]).toEqual([200, false, PRICE])
  })

  test('a request that breaks off in the middle of its response', async () => {
    node.results.set('getBalance', `"${'a'.repeat(3_000_000)}"`)
    node.failNext({ kind: 'truncate' })
    await expect(post('broken').then((response) => response.text())).rejects.toThrow('terminated')
    await expect.poll(() => rowsOf()).toEqual([])
    const retry = await post('broken')
    expect([retry.status, (await retry.text()).length, isReplay(retry), await charged()]).toEqual([
      200,
      3_000_051,
      false,
      PRICE,
    ])
  })

  test('a balance that was too small may grow', async () => {
    account = await server.createAccount({ grantNanoUsd: 1n })
    expect((await post('poor')).status).toBe(402)
    await server.app.services.money.ledger.grant({ accountId: account.accountId, amountNanoUsd: PRICE, reason: 'test' })
    expect((await post('poor')).status).toBe(200)
    expect(await server.balanceNanoUsd(account.accountId)).toBe(1n)
  })

  test('a request that was rejected may be put right under the same key', async () => {
    expect((await post('wrong', { body: '{"method":"getEverything"}' })).status).toBe(400)
    expect((await post('wrong')).status).toBe(200)
  })
})

describe('creating an API key', () => {
  const path = '/api_keys'
  const body = '{"apiKeyType":"INFERENCE","description":"from a script"}'

  test('twice under one key creates one, whose secret is in both responses', async () => {
    const first = (await (await post('create', { path, body })).json()) as { data: { apiKey: string } }
    const repeat = await post('create', { path, body })
    expect([isReplay(repeat), await repeat.json()]).toEqual([true, first])
    expect(await server.app.services.access.apiKeys.list(account.accountId)).toHaveLength(2)
    expect(repeat.headers.has('x-ratelimit-remaining-requests')).toBe(true)
  })

  test('leaves no secret in the database', async () => {
    const first = (await (await post('secret', { path, body })).json()) as { data: { apiKey: string } }
    const [row] = await rowsOf()
    expect(row?.body?.length).toBeGreaterThan(0)
    expect(Buffer.from(row?.body ?? []).includes(first.data.apiKey)).toBe(false)
    expect(JSON.stringify([row?.headers, row?.charge])).not.toContain(first.data.apiKey)
  })
})

describe('a chat completion', () => {
  const path = '/chat/completions'
  const body = '{"model":"test-model","messages":[{"role":"user","content":"Hello"}]}'

  test('twice under one key asks the model once and is charged once', async () => {
    const first = await post('chat', { path, body })
    const text = await first.text()
    const cost = await charged()
    const repeat = await post('chat', { path, body })
    expect([repeat.status, await repeat.text(), isReplay(repeat)]).toEqual([200, text, true])
    for (const name of ['content-type', 'x-service-model-id', 'x-service-model-name', 'x-service-model-router']) {
      expect(repeat.headers.get(name)).toBe(first.headers.get(name))
    }
    expect(JSON.parse(text)).toMatchObject({ cost: { usd: Number(cost) / 1e9 } })
    expect([await charged(), server.provider.requests.length]).toEqual([cost, 1])
    expect(cost).toBeGreaterThan(0n)
  })

  test('is rejected under a key if it streams, with a hint at the alternative', async () => {
    const refused = await post('stream', { path, body: body.replace('{', '{"stream":true,') })
    expect([refused.status, server.provider.requests.length]).toEqual([400, 0])
    expect(await refused.text()).toMatch(/stream.*Idempotency-Key/)
  })
})

describe('embeddings', () => {
  const path = '/embeddings'
  const body = '{"model":"test-embedding","input":["one","two"]}'

  test('twice under one key ask the model once and are charged once', async () => {
    const first = await post('embed', { path, body })
    const text = await first.text()
    const cost = await charged()
    const repeat = await post('embed', { path, body })
    expect([repeat.status, await repeat.text(), isReplay(repeat)]).toEqual([200, text, true])
    expect(repeat.headers.get('x-service-model-id')).toBe('test-embedding')
    expect([await charged(), server.provider.requests.length]).toEqual([cost, 1])
    expect(cost).toBeGreaterThan(0n)
  })
})
