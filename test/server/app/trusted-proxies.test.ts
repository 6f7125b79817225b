import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { OPERATOR_TOKEN } from '../../support/app.ts'
import { decodeHeader, paymentHeader } from '../../support/payment-headers.ts'
import { PAY_TO, startWalletApp, type WalletApp } from '../../support/wallet-app.ts'

const ATTEMPTS = 4
const FILE = {
  limits: {
    abuse: { failures: ATTEMPTS - 1, windowSeconds: 600, blockSeconds: 600 },
    wallet: { topUpsPerMinutePerIp: ATTEMPTS, web3KeyCallsPerMinutePerIp: ATTEMPTS },
  },
  x402: {
    base: {
      payTo: PAY_TO,
      rpcUrl: 'http://127.0.0.1:9',
      facilitator: { kind: 'local', privateKey: `0x${'5'.repeat(64)}` },
    },
    answerSeconds: 0.05,
  },
}

let trusting: WalletApp
let direct: WalletApp
beforeAll(async () => {
  trusting = await startWalletApp({ file: { ...FILE, http: { trustedProxies: ['127.0.0.0/8', '::1'] } } })
  direct = await startWalletApp({ file: FILE })
})
afterAll(() => Promise.all([trusting.close(), direct.close()]))

async function send(
  url: string,
  forwardedFor: string,
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
): Promise<number> {
  const headers = { 'content-type': 'application/json', ...init.headers, 'x-forwarded-for': forwardedFor }
  const response = await fetch(url, { ...init, headers })
  await response.arrayBuffer()
  return response.status
}

async function sendPayment(app: WalletApp, forwardedFor: string, path: string): Promise<number> {
  const offered = await fetch(`${app.baseUrl}/x402/top-up`, { method: 'POST' })
  const { accepts } = decodeHeader(offered.headers.get('payment-required')) as {
    accepts: [{ network: string; amount: string }]
  }
  const hex = (bytes: number) => `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex')}`
  const validBefore = String(Math.floor(Date.now() / 1_000) + 120)
  const authorization = {
    from: hex(20),
    to: PAY_TO,
    value: accepts[0].amount,
    validAfter: '0',
    validBefore,
    nonce: hex(32),
  }
  const headers = paymentHeader(accepts[0], { signature: `0x${'11'.repeat(65)}`, authorization })
  return send(app.baseUrl + path, forwardedFor, { method: 'POST', headers, body: '{}' })
}

const wrongKey = { authorization: 'Bearer wrong' }
const graphql = { method: 'POST', body: '{"query":"{ __typename }"}' }
const accept = { accept: 'application/graphql-response+json' }
const sealed = () => ({ 'sign-in-with-x': btoa(crypto.randomUUID()) })

/** Every call that counts for the address that sent it. */
const CALLS: Record<string, (app: WalletApp, forwardedFor: string) => Promise<number>> = {
  'wrong API keys over REST': ({ baseUrl }, from) => send(`${baseUrl}/api_keys`, from, { headers: wrongKey }),
  'wrong signatures over REST': ({ baseUrl }, from) =>
    send(`${baseUrl}/x402/balance/0x${'1'.repeat(40)}`, from, { headers: sealed() }),
  'wrong keys over GraphQL': ({ url }, from) =>
    send(`${url}/graphql`, from, { ...graphql, headers: { ...accept, ...wrongKey } }),
  'wrong signatures over GraphQL': ({ url }, from) =>
    send(`${url}/graphql`, from, { ...graphql, headers: { ...accept, ...sealed() } }),
  'wrong operator tokens over tRPC': ({ url }, from) =>
    send(`${url}/trpc/platform.verify`, from, { headers: wrongKey }),
  'wrong operator tokens at /metrics': ({ url }, from) => send(`${url}/metrics`, from, { headers: wrongKey }),
  'top-ups': (app, from) => sendPayment(app, from, '/x402/top-up'),
  'payments with a request': (app, from) => sendPayment(app, from, '/chat/completions'),
  'calls of generate_web3_key': ({ baseUrl }, from) => send(`${baseUrl}/api_keys/generate_web3_key`, from),
}

let octet = 0
const nextAddress = () => `203.0.113.${++octet}`

describe.each(Object.entries(CALLS))('%s', (_, call) => {
  test('count for the client behind a trusted proxy, and for nobody else behind it', async () => {
    const [attacker, neighbour] = [nextAddress(), nextAddress()]
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) expect(await call(trusting, attacker)).not.toBe(429)
    expect(await call(trusting, attacker)).toBe(429)
    // What the client itself writes in front of the address that the proxy saw changes nothing.
    expect(await call(trusting, `${nextAddress()}, ${attacker}`)).toBe(429)
    expect(await call(trusting, neighbour)).not.toBe(429)
  })
})

test('X-Forwarded-For of an untrusted peer frees nobody from a block', async () => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++)
    expect(await send(`${direct.baseUrl}/api_keys`, nextAddress(), { headers: wrongKey })).toBe(401)
  expect(await send(`${direct.baseUrl}/api_keys`, nextAddress(), { headers: wrongKey })).toBe(429)
})

test('clients in one IPv6 /64 share a limit, and clients in another /64 do not', async () => {
  const call = (from: string) => send(`${trusting.baseUrl}/api_keys/generate_web3_key`, from)
  for (let host = 1; host <= ATTEMPTS; host++) expect(await call(`2001:db8:1:1::${host}`)).toBe(200)
  expect(await call('2001:db8:1:1:ffff::1')).toBe(429)
  expect(await call('2001:db8:1:2::1')).toBe(200)
})

describe('socket handshakes', () => {
  const open = (from: string) => {
    const headers = { 'x-forwarded-for': from }
    return new WebSocket(`${trusting.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
  }

  test('from one client behind a trusted proxy do not use up the share of another', async () => {
    const [attacker, neighbour] = [nextAddress(), nextAddress()]
    const waiting = [1, 2, 3].map(() => open(attacker))
    await Promise.all(waiting.map((socket) => once(socket, 'open')))
    const [, response] = await once(open(attacker), 'unexpected-response')
    expect(response.statusCode).toBe(429)
    const other = open(neighbour)
    await once(other, 'open')
    for (const socket of [...waiting, other]) socket.terminate()
  })

  test('count wrong keys for the client behind a trusted proxy', async () => {
    const attacker = nextAddress()
    const closeOf = async () => {
      const socket = open(attacker)
      await once(socket, 'open')
      socket.send(JSON.stringify({ type: 'connection_init', payload: wrongKey }))
      const [code] = await once(socket, 'close')
      return code
    }
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) expect(await closeOf()).toBe(4401)
    expect(await closeOf()).toBe(4403)
    expect(await send(`${trusting.baseUrl}/api_keys`, attacker, { headers: wrongKey })).toBe(429)
    expect(await send(`${trusting.baseUrl}/api_keys`, nextAddress(), { headers: wrongKey })).toBe(401)
  })
})

test('an operator behind a trusted proxy is not blocked by a stranger who guesses tokens there', async () => {
  const [stranger, operator] = [nextAddress(), nextAddress()]
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
  for (let attempt = 0; attempt <= ATTEMPTS; attempt++)
    await send(`${trusting.url}/metrics`, stranger, { headers: wrongKey })
  expect(await send(`${trusting.url}/metrics`, stranger, { headers })).toBe(429)
  expect(await send(`${trusting.url}/metrics`, operator, { headers })).toBe(200)
})
