import { request } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { listNetworksRoute } from '../../../rest-facade/rpc/list-networks.ts'
import { proxyRpcRoute } from '../../../rest-facade/rpc/proxy-rpc.ts'
import { DomainError } from '../../../server/domain/errors.ts'
import { keyCaller } from '../../support/callers.ts'
import { type RestHarness, startRestHarness } from '../../support/rest-harness.ts'
import { createRpcHarness } from '../../support/rpc-harness.ts'
import { type RpcNodeServer, startRpcNode } from '../../support/rpc-node.ts'

let node: RpcNodeServer
let rpc: ReturnType<typeof createRpcHarness>
let rest: RestHarness

beforeAll(async () => {
  node = await startRpcNode()
})
afterAll(() => node.close())
beforeEach(async () => {
  node.calls.length = 0
  const broken = { url: 'http://127.0.0.1:1/' }
  rpc = createRpcHarness({
    'ethereum-mainnet': { upstreams: [{ url: node.url }] },
    'base-mainnet': { upstreams: [broken, { url: node.url }] },
  })
  rest = await startRestHarness([listNetworksRoute, proxyRpcRoute], {
    caller: keyCaller(),
    rpc: { proxy: rpc.service },
  })
})
afterEach(async () => {
  await rest[Symbol.asyncDispose]()
  await rpc[Symbol.asyncDispose]()
})

const CHAIN_ID = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'

const post = (network: string, body: string, headers: Record<string, string> = {}) =>
  fetch(`${rest.baseUrl}/crypto/rpc/${network}`, {
    method: 'POST',
    body,
    headers: { authorization: 'Bearer key', 'content-type': 'application/json', ...headers },
  })

const ends = () => rpc.metering.records.map(({ end }) => (end?.kind === 'settled' ? end.chargedNanoUsd : end?.kind))

describe('200', () => {
  test('the response, its price, its request id and the balances before it', async () => {
    const response = await post('ethereum-mainnet', CHAIN_ID)
    expect([response.status, await response.text()]).toEqual([200, '{"jsonrpc":"2.0","id":1,"result":"0x1"}'])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-service-rpc-credits': '20',
      'x-service-rpc-cost-usd': '0.00001250',
      'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      'x-service-balance-usd': '1',
      'x-ratelimit-limit-requests': '100',
    })
    expect(response.headers.get('x-request-id')).toBe(response.headers.get('cf-ray'))
    expect(response.headers.has('x-retry-count')).toBe(false)
  })

  test('a retry on another node is counted in a header', async () => {
    const response = await post('base-mainnet', CHAIN_ID)
    expect([response.status, response.headers.get('x-retry-count')]).toEqual([200, '1'])
  })

  test('whatever the content type of request and node', async () => {
    node.failNext({ kind: 'status', status: 200, body: '{"result":1}', contentType: 'text/plain' })
    const response = await post('ethereum-mainnet', CHAIN_ID, { 'content-type': 'text/plain' })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  })

  test('a large response streams to the client and is charged', async () => {
    node.failNext({ kind: 'huge', bytes: 30_000_000 })
    const response = await post('ethereum-mainnet', CHAIN_ID)
    expect(response.headers.get('x-service-rpc-credits')).toBe('20')
    expect((await response.arrayBuffer()).byteLength).toBe(30_000_036)
    expect(ends()).toEqual([12_500n])
  })

  test('the networks, sorted, without credential', async () => {
    const response = await fetch(`${rest.baseUrl}/crypto/rpc/networks`)
    const { networks } = (await response.json()) as { networks: string[] }
    expect(networks).toHaveLength(27)
    expect(networks).toEqual(networks.toSorted())
  })
})

test('204 without a body for a notification, with its price', async () => {
  const response = await post('ethereum-mainnet', '{"method":"eth_chainId"}')
  expect([response.status, await response.text()]).toEqual([204, ''])
  expect(response.headers.get('x-service-rpc-credits')).toBe('20')
})

test.each([
  ['400 for an unknown network', 'base', CHAIN_ID, 400, /supported networks: arbitrum-mainnet/],
  ['400 for a refused method', 'ethereum-mainnet', '{"method":"eth_sign"}', 400, /eth_sign/],
  ['400 for an empty body', 'ethereum-mainnet', '', 400, /empty/],
  ['413 above 5 MiB', 'ethereum-mainnet', ' '.repeat(5 * 1024 * 1024 + 1), 413, /5242880/],
])('%s', async (_, network, body, status, message) => {
  const response = await post(network, body)
  const answer = (await response.json()) as { error: string }
  expect([response.status, answer.error]).toEqual([status, expect.stringMatching(message)])
  expect(response.headers.has('x-service-rpc-credits')).toBe(false)
})

test('429 names the cap and carries the trio, without Retry-After', async () => {
  rpc.metering.open = async () => {
    const rule = 'Rate limit exceeded: 100 requests per minute'
    const limit = { rule, limit: 100, remaining: 0, resetAtMs: 1_768_478_460_000 }
    throw new DomainError('rate_limited', rule, { limit, retryAfterSeconds: 12 })
  }
  const response = await post('ethereum-mainnet', CHAIN_ID)
  expect([response.status, await response.json()]).toMatchObject([
    429,
    { customMessage: expect.stringContaining('100') },
  ])
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'x-ratelimit-limit': '100',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '1768478460',
  })
  expect(response.headers.has('retry-after')).toBe(false)
})

test('500 without a word of the node when it fails', async () => {
  node.failNext({ kind: 'status', status: 503 })
  const response = await post('ethereum-mainnet', CHAIN_ID)
  expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining('secret')])
  expect(ends()).toEqual(['released'])
})

test('a client that disconnects in the middle of a large response is charged, and the node call is cancelled', async () => {
  node.failNext({ kind: 'huge', bytes: 200_000_000 })
  const client = request(`${rest.baseUrl}/crypto/rpc/ethereum-mainnet`, {
    method: 'POST',
    headers: { authorization: 'Bearer key' },
  })
  client.on('error', () => undefined)
  client.on('response', (response) => response.once('data', () => client.destroy()))
  client.end(CHAIN_ID)
  await expect.poll(() => ends()).toEqual([12_500n])
  await expect.poll(() => node.calls[0]?.aborted).toBe(true)
})

describe.each(['gzip', 'br'])('responses to Accept-Encoding: %s', (encoding) => {
  const asked = { 'accept-encoding': encoding }

  test('a large response comes compressed, with the same bytes inside', async () => {
    node.failNext({ kind: 'huge', bytes: 3_000_000 })
    const response = await post('ethereum-mainnet', CHAIN_ID, asked)
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(response.headers.get('vary')).toBe('Accept-Encoding')
    expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":1,"result":"${'a'.repeat(3_000_000)}"}`)
    expect(ends()).toEqual([12_500n])
  })

  test('are compressed with Content-Length if they are of medium size, and unchanged if they are small', async () => {
    node.results.set('eth_getLogs', `"${'a'.repeat(20_000)}"`)
    const middling = await post('ethereum-mainnet', '{"id":1,"method":"eth_getLogs"}', asked)
    expect(middling.headers.get('content-encoding')).toBe(encoding)
    expect(Number(middling.headers.get('content-length'))).toBeLessThan(1_000)
    expect((await middling.text()).length).toBe(20_036)
    const small = await post('ethereum-mainnet', CHAIN_ID, asked)
    expect([small.headers.has('content-encoding'), await small.text()]).toEqual([
      false,
      '{"jsonrpc":"2.0","id":1,"result":"0x1"}',
    ])
  })

  test('a client that disconnects is charged, and the node call is cancelled', async () => {
    node.failNext({ kind: 'huge', bytes: 2_000_000_000 })
    const client = new AbortController()
    const response = await fetch(`${rest.baseUrl}/crypto/rpc/ethereum-mainnet`, {
      method: 'POST',
      body: CHAIN_ID,
      headers: { authorization: 'Bearer key', ...asked },
      signal: client.signal,
    })
    expect(response.status).toBe(200)
    client.abort()
    await expect.poll(() => ends()).toEqual([12_500n])
    await expect.poll(() => node.calls[0]?.aborted).toBe(true)
  })

  test('a response that breaks off does not end as if it were complete', async () => {
    node.results.set('eth_getLogs', `"${'a'.repeat(1_000_000)}"`)
    node.failNext({ kind: 'truncate' })
    const response = await post('ethereum-mainnet', '{"id":1,"method":"eth_getLogs"}', asked)
    await expect(response.text()).rejects.toThrow()
    expect(ends()).toEqual(['released'])
  })
})

test('a response that breaks off ends in a cut connection, not in a complete response', async () => {
  node.results.set('eth_getLogs', `"${'a'.repeat(1_000_000)}"`)
  node.failNext({ kind: 'truncate' })
  const response = await post('ethereum-mainnet', '{"id":1,"method":"eth_getLogs"}')
  await expect(response.text()).rejects.toThrow()
  expect(ends()).toEqual(['released'])
})
