import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestAccount, type TestApp } from '../support/app.ts'
import { readAnswer } from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'
import { findRedis } from '../support/redis.ts'

const redis = await findRedis()

let testApp: TestApp
let account: TestAccount

beforeAll(async () => {
  testApp = await startTestApp()
  account = await testApp.createAccount()
})
afterAll(() => testApp.close())

const chat = (headers: Record<string, string> = {}, model = 'test-model') =>
  fetch(`${testApp.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.adminKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  })

const receipt = async (requestId: string | null) => {
  const query = `query ($id: String!) { viewer { request(requestId: $id) {
    outcome charge lines { type unitPrice } upstream idempotency { key replays } ledgerTransfer { requestId }
  } } }`
  const response = await fetch(`${testApp.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { id: requestId } }),
  })
  return (await readAnswer(response)).data.viewer.request
}

describe('a request over REST', () => {
  it('has its receipt under the id of its CF-RAY header, with the prices that were used', async () => {
    const requestId = (await chat()).headers.get('cf-ray')
    expect(await receipt(requestId)).toMatchObject({
      outcome: 'COMPLETED',
      lines: [
        { type: 'Input', unitPrice: '0.00000015' },
        { type: 'Output', unitPrice: '0.0000006' },
      ],
      upstream: 'main',
      idempotency: null,
      ledgerTransfer: { requestId },
    })
  })

  it('is logged and costs nothing if its provider failed', async () => {
    testApp.provider.setFault('status-500', 1)
    const response = await chat()
    expect(response.status).toBe(502)
    expect(await receipt(response.headers.get('cf-ray'))).toEqual({
      outcome: 'UPSTREAM_FAILED',
      charge: '0',
      lines: [],
      upstream: null,
      idempotency: null,
      ledgerTransfer: null,
    })
    await testApp.assertLedgerClean()
  })

  it('shows its idempotency key, and how often its response was given again', async () => {
    const headers = { 'idempotency-key': 'receipt-1' }
    const first = await chat(headers)
    await first.text()
    for (let repeat = 0; repeat < 2; repeat++) await (await chat(headers)).text()
    expect((await receipt(first.headers.get('cf-ray'))).idempotency).toEqual({ key: 'receipt-1', replays: 2 })
  })
})

describe.runIf('url' in redis)('usageRecorded over two processes', () => {
  it('shows a watcher at one process the requests that the other settles, in order', async () => {
    const redisUrl = 'url' in redis ? redis.url : ''
    await using own = await startTestApp({ redisUrl })
    const { adminKey } = await own.createAccount()
    const twin = await own.startTwin()
    const socket = await GraphqlSocket.open(`${own.url.replace('http', 'ws')}/graphql`, adminKey)
    socket.subscribe('1', 'subscription { usageRecorded { requests { requestId } } }')
    await socket.next()
    const sent: (string | null)[] = []
    for (const url of [twin.url, own.url, twin.url]) {
      const response = await fetch(`${url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'hello' }] }),
      })
      await response.text()
      sent.push(response.headers.get('cf-ray'))
    }
    const seen: string[] = []
    while (seen.length < 3) {
      const { payload } = (await socket.next()) as {
        payload: { data: { usageRecorded: { requests: { requestId: string }[] } } }
      }
      seen.push(...payload.data.usageRecorded.requests.map(({ requestId }) => requestId))
    }
    expect(seen).toEqual(sent)
    await socket.close()
    await twin.close()
  })
})
