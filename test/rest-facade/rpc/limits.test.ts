import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type RpcTestApp, startRpcApp } from '../../support/rpc-app.ts'

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
const batchOf = (items: number) => `[${Array.from({ length: items }, () => CALL).join()}]`

let app: RpcTestApp
beforeEach(async () => {
  app = await startRpcApp({ file: { limits: { standard: { rpc: { creditsPer24Hours: 6_000 } } } } })
})
afterEach(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

async function callMany(times: number, key: string): Promise<Response[]> {
  const responses: Response[] = []
  while (responses.length < times) {
    const together = Math.min(50, times - responses.length)
    const calls = Array.from({ length: together }, () => app.post('ethereum-mainnet', CALL, { key }))
    responses.push(...(await Promise.all(calls)))
  }
  return responses
}

const trioOf = ({ headers }: Response) =>
  ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => headers.get(name))
const secondsFromNow = (seconds: number) => String(Math.ceil(app.clock.nowMs() / 1_000) + seconds)

describe('requests a minute', () => {
  test.each([
    ['standard', 100],
    ['partner', 100],
    ['staff', 1_000],
  ] as const)(
    'a %s account has %i; the next one is rejected with the cap, and served when the minute is over',
    async (tier, limit) => {
      const { adminKey } = await app.server.createAccount({ tier })
      const served = await callMany(limit, adminKey)
      expect(new Set(served.map(({ status }) => status))).toEqual(new Set([200]))
      app.clock.advance(20_000)
      const refused = await app.post('ethereum-mainnet', CALL, { key: adminKey })
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({
        error: expect.stringContaining(limit.toLocaleString('en-US')),
        code: 'RATE_LIMIT_EXCEEDED',
        customMessage: expect.stringContaining(`${limit.toLocaleString('en-US')} requests per minute`),
      })
      const [cap, remaining, reset] = trioOf(refused)
      expect([cap, remaining]).toEqual([String(limit), '0'])
      expect(Number(reset)).toBeGreaterThanOrEqual(Number(secondsFromNow(39)))
      expect(Number(reset)).toBeLessThanOrEqual(Number(secondsFromNow(42)))
      expect(refused.headers.has('retry-after')).toBe(false)
      app.clock.advance(42_000)
      expect((await app.post('ethereum-mainnet', CALL, { key: adminKey })).status).toBe(200)
    },
  )

  test('are counted over all keys and networks of the account, and a batch is one', async () => {
    const { adminKey } = await app.server.createAccount({ tier: 'standard' })
    const batches = await Promise.all(
      Array.from({ length: 2 }, () => app.post('ethereum-mainnet', batchOf(100), { key: adminKey })),
    )
    expect(batches.map(({ headers }) => headers.get('x-service-rpc-credits'))).toEqual(['2000', '2000'])
    const remaining = batches.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'))
    expect(new Set(remaining)).toEqual(new Set(['98', '99']))
  })

  test('rejected requests cost nothing and reach no node', async () => {
    const { accountId, adminKey } = await app.server.createAccount({ tier: 'standard' })
    await callMany(100, adminKey)
    const before = app.node.calls.length
    const refused = await callMany(20, adminKey)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([429]))
    expect(app.node.calls.length).toBe(before)
    expect(await app.server.balanceNanoUsd(accountId)).toBe(1_000_000_000n - 100n * 12_500n)
  })
})

describe('credits in 24 hours', () => {
  test('are rejected above the cap, which the message names, and come back as the hours pass', async () => {
    const { adminKey } = await app.server.createAccount({ tier: 'standard' })
    for (let batch = 0; batch < 3; batch += 1) {
      expect((await app.post('ethereum-mainnet', batchOf(100), { key: adminKey })).status).toBe(200)
      app.clock.advance(3_600_000)
    }
    const refused = await app.post('ethereum-mainnet', CALL, { key: adminKey })
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({
      customMessage: expect.stringMatching(/6,000 RPC credits per 24 hours/),
    })
    expect(trioOf(refused).slice(0, 2)).toEqual(['6000', '0'])
    expect(Number(trioOf(refused)[2])).toBeGreaterThan(app.clock.nowMs() / 1_000 + 20 * 3_600)
    expect(refused.headers.has('retry-after')).toBe(false)
    app.clock.advance(21 * 3_600_000 + 61_000)
    expect((await app.post('ethereum-mainnet', batchOf(100), { key: adminKey })).status).toBe(200)
    expect((await app.post('ethereum-mainnet', CALL, { key: adminKey })).status).toBe(429)
  })

  test('count the charged credits, so an error item takes 5', async () => {
    const { adminKey } = await app.server.createAccount({ tier: 'standard' })
    const failing = `[${Array.from({ length: 100 }, () => '{"id":1,"method":"eth_getLogs"}').join()}]`
    for (let batch = 0; batch < 8; batch += 1) {
      const answer = await app.post('ethereum-mainnet', failing, { key: adminKey })
      expect(answer.headers.get('x-service-rpc-credits')).toBe('500')
    }
    expect((await app.post('ethereum-mainnet', batchOf(100), { key: adminKey })).status).toBe(200)
    expect((await app.post('ethereum-mainnet', CALL, { key: adminKey })).status).toBe(429)
  })

  test('reject a batch that alone exceeds the cap, with a hint to make it smaller', async () => {
    const { adminKey } = await app.server.createAccount({ tier: 'standard' })
    const body = `[${Array.from({ length: 100 }, () => '{"id":1,"method":"trace_replayTransaction"}').join()}]`
    const refused = await app.post('ethereum-mainnet', body, { key: adminKey })
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: expect.stringMatching(/8,000 credits/) },
    ])
  })
})

describe('a balance that does not cover the call', () => {
  test('is rejected before any node hears of it, with what it needs and how to go on', async () => {
    const { accountId, adminKey } = await app.server.createAccount({ grantNanoUsd: 25_000n })
    const refused = await app.post('ethereum-mainnet', batchOf(3), { key: adminKey })
    expect(refused.status).toBe(402)
    expect(await refused.json()).toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
      error: expect.stringMatching(/fewer calls in a batch/),
      requiredUsd: '0.0000375',
      balanceUsd: '0.000025',
    })
    expect(refused.headers.get('x-service-balance-usd')).toBe('0.000025')
    expect(app.node.calls.filter(({ body }) => body.startsWith('['))).toEqual([])
    expect(await app.server.balanceNanoUsd(accountId)).toBe(25_000n)
    expect((await app.post('ethereum-mainnet', batchOf(2), { key: adminKey })).status).toBe(200)
    expect(await app.server.balanceNanoUsd(accountId)).toBe(0n)
  })
})

describe('a large body', () => {
  const large = (end: string) => `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["${'a'.repeat(500_000)}"${end}`
  const remainingOf = ({ headers }: Response) => headers.get('x-ratelimit-remaining-requests')

  test('counts as one request and is charged as any other', async () => {
    const { accountId, adminKey } = await app.server.createAccount({ tier: 'standard' })
    const served = await app.post('ethereum-mainnet', large(']}'), { key: adminKey })
    expect([served.status, remainingOf(served)]).toEqual([200, '99'])
    const next = await app.post('ethereum-mainnet', CALL, { key: adminKey })
    expect([next.status, remainingOf(next)]).toEqual([200, '98'])
    const credits = [served, next].map(({ headers }) => BigInt(headers.get('x-service-rpc-credits') ?? 0))
    expect(await app.server.balanceNanoUsd(accountId)).toBe(
      1_000_000_000n - ((credits[0] ?? 0n) + (credits[1] ?? 0n)) * 625n,
    )
  })

  test('is rejected with 400 if it is malformed, and counts as a request', async () => {
    const { accountId, adminKey } = await app.server.createAccount({ tier: 'standard' })
    const rejected = await app.post('ethereum-mainnet', large(''), { key: adminKey })
    expect([rejected.status, await rejected.json()]).toMatchObject([
      400,
      { error: expect.stringContaining('unexpected end') },
    ])
    expect(remainingOf(await app.post('ethereum-mainnet', CALL, { key: adminKey }))).toBe('98')
    expect(await app.server.balanceNanoUsd(accountId)).toBe(1_000_000_000n - 12_500n)
  })

  test('is rejected with 402 before it is scanned if the balance is empty, and costs no request', async () => {
    const { adminKey } = await app.server.createAccount({ tier: 'standard', grantNanoUsd: 12_500n })
    expect((await app.post('ethereum-mainnet', CALL, { key: adminKey })).status).toBe(200)
    const rejected = await app.post('ethereum-mainnet', large(''), { key: adminKey })
    expect([rejected.status, await rejected.json()]).toMatchObject([
      402,
      { code: 'INSUFFICIENT_BALANCE', balanceUsd: '0' },
    ])
  })

  test('is rejected with 429 before it is scanned if the minute is used up', async () => {
    const { adminKey } = await app.server.createAccount({ tier: 'standard' })
    await callMany(100, adminKey)
    const rejected = await app.post('ethereum-mainnet', large(''), { key: adminKey })
    expect([rejected.status, trioOf(rejected).slice(0, 2)]).toEqual([429, ['100', '0']])
  })
})
