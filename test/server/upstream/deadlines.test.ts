import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { probeLocalModels } from '../../../server/config/local-models.ts'
import { readSingleAnswer } from '../../../server/domain/rpc/single-answer.ts'
import { createOpenAiProvider } from '../../../server/upstream/inference/openai-provider.ts'
import { SolanaRpc } from '../../../server/upstream/payments/solana/solana-rpc.ts'
import { createRpcNode } from '../../../server/upstream/rpc/rpc-node-client.ts'
import { startTestApp, type TestApp, testModels } from '../../support/app.ts'
import { startTricklingServer, type TricklingServer } from '../../support/trickling-server.ts'

const TIMEOUT_SECONDS = 0.5
const LARGE = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(300_000)}`

let upstream: TricklingServer
let app: TestApp
let adminKey: string
beforeAll(async () => {
  upstream = await startTricklingServer()
  app = await startTestApp({
    file: {
      providers: [{ id: 'main', kind: 'openai', baseUrl: upstream.url, timeoutSeconds: TIMEOUT_SECONDS }],
      models: testModels(),
      rpc: {
        networks: { 'ethereum-mainnet': { upstreams: [{ url: upstream.url, timeoutSeconds: TIMEOUT_SECONDS }] } },
      },
    },
  })
  adminKey = (await app.createAccount()).adminKey
})
beforeEach(() => {
  upstream.begin = (response) => void response.writeHead(200, { 'content-type': 'application/json' })
})
afterAll(async () => {
  await app.assertLedgerClean()
  await app.close()
  await upstream[Symbol.asyncDispose]()
})

const post = (path: string, body: unknown) =>
  fetch(app.baseUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
    body: JSON.stringify(body),
  })
const chat = (stream: boolean) => ({ model: 'test-model', stream, messages: [{ role: 'user', content: 'Hi' }] })
const call = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }

describe('an upstream that trickles', () => {
  test.each<[string, number, string, unknown]>([
    ['a chat', 504, '/chat/completions', chat(false)],
    ['embeddings', 504, '/embeddings', { model: 'test-embedding', input: 'Hi' }],
    ['a JSON-RPC request', 500, '/crypto/rpc/ethereum-mainnet', call],
    ['a JSON-RPC batch', 500, '/crypto/rpc/ethereum-mainnet', [call, { ...call, id: 2 }]],
  ])('ends %s with %i after its timeout', async (_, status, path, body) => {
    const response = await post(path, body)
    expect(response.status).toBe(status)
    await response.arrayBuffer()
    await expect.poll(() => upstream.open).toBe(0)
  })

  test.each([400, 500])('ends a chat after its timeout if its status is %i', async (status) => {
    upstream.begin = (response) => void response.writeHead(status, { 'content-type': 'text/event-stream' })
    const response = await post('/chat/completions', chat(true))
    expect(response.status).toBeGreaterThanOrEqual(400)
    await response.arrayBuffer()
    await expect.poll(() => upstream.open).toBe(0)
  })

  test('ends a stream that has begun after ten times its timeout', async () => {
    upstream.begin = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n')
    }
    const response = await post('/chat/completions', chat(true))
    expect(response.status).toBe(200)
    await response.text().catch(() => '')
    await expect.poll(() => upstream.open).toBe(0)
  })

  test('ends a large JSON-RPC response that has begun after ten times its timeout', async () => {
    upstream.begin = (response) => void response.writeHead(200).write(LARGE)
    const response = await post('/crypto/rpc/ethereum-mainnet', call)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
    await expect.poll(() => upstream.open).toBe(0)
  })

  test('is found unreachable by the inspector of nodes', async () => {
    const reports = await app.app.services.rpc.nodes.inspect()
    expect(reports).toEqual([expect.objectContaining({ status: 'unreachable' })])
    await expect.poll(() => upstream.open).toBe(0)
  })

  test('is not taken for a local model server', async () => {
    expect(await probeLocalModels([Number(new URL(upstream.url).port)])).toEqual([])
    await expect.poll(() => upstream.open).toBe(0)
  })

  test('ends a call to a Solana node', async () => {
    await expect(new SolanaRpc(upstream.url).call('getHealth', [], z.string())).rejects.toThrow()
    await expect.poll(() => upstream.open).toBe(0)
  }, 30_000)
})

describe('an upstream that is slow but not stalled', () => {
  /** Sends the rest after twice the timeout, in pieces that come in time. */
  const finishLater = (response: ServerResponse, rest: string) =>
    void setTimeout(() => response.end(rest), TIMEOUT_SECONDS * 2_000)

  test('completes a JSON-RPC response that has begun', async () => {
    upstream.begin = (response) => {
      response.writeHead(200).write(LARGE)
      finishLater(response, '"}')
    }
    const node = createRpcNode({ id: 'net#1', url: upstream.url, timeoutSeconds: TIMEOUT_SECONDS })
    const answer = await readSingleAnswer(await node.send(Buffer.from('{}'), new AbortController().signal), {
      notification: false,
    })
    if (answer?.shape !== 'stream') throw new Error('a large answer is streamed')
    while ((await answer.rest.next()).done !== true);
    await node.close()
  })

  test('completes an event stream that has begun', async () => {
    upstream.begin = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write('data: 1\n\n')
      finishLater(response, 'data: [DONE]\n\n')
    }
    const provider = createOpenAiProvider({ id: 'p', baseUrl: upstream.url, timeoutSeconds: TIMEOUT_SECONDS })
    const signal = new AbortController().signal
    const { body } = await provider.send({
      operation: 'chat',
      model: 'm',
      body: { kind: 'json', value: {} },
      accepts: 'json',
      signal,
    })
    let text = ''
    for await (const chunk of body) text += Buffer.from(chunk).toString()
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    await provider.close()
  })
})
