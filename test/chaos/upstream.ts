import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { testModels } from '../support/app.ts'
import { chatJson, streamFrames } from '../support/provider-replies.ts'

const CHAT_JSON = chatJson()
const FRAMES = streamFrames()
const FRAMES_BEFORE_PAUSE = 5
const DELAY_MS_MAX = 4

/** Model server and blockchain node in one: how far a request has come when it is told about. */
export type UpstreamStage = 'received' | 'half-sent' | 'answered'

export interface ChaosUpstream extends AsyncDisposable {
  /** Configuration of a server that sells what stands behind here, with limits out of the way. */
  config: Record<string, unknown>
  limits: typeof OPEN_LIMITS
  /** Answers begin only when this is settled. */
  answerAfter: Promise<unknown>
  /** Streams go on after their first frames only when this is settled. */
  continueAfter: Promise<unknown>
  /** Requests that have arrived. */
  received: number
  onStage: (stage: UpstreamStage) => void
}

/** Answers each request after up to 4 ms, in three steps that a test can stop at or act upon. */
export async function startChaosUpstream(): Promise<ChaosUpstream> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => void answer(response, Buffer.concat(parts).toString()).catch(() => response.destroy()))
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstream: ChaosUpstream = {
    config: configFor(origin),
    limits: OPEN_LIMITS,
    answerAfter: Promise.resolve(),
    continueAfter: Promise.resolve(),
    received: 0,
    onStage: () => {},
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  async function answer(response: ServerResponse, body: string): Promise<void> {
    // Servers ask by themselves which chain a node is on.
    if (body.includes('"eth_chainId"')) return void response.end(rpcAnswer('"0x1"'))
    upstream.received++
    upstream.onStage('received')
    await upstream.answerAfter
    await sleep(Math.random() * DELAY_MS_MAX)
    if (body.includes('"jsonrpc"')) response.end(rpcAnswer('"0x10d4f"'))
    else if (body.includes('"stream":true')) await answerStream(response)
    else response.setHeader('content-type', 'application/json').end(CHAT_JSON)
    upstream.onStage('answered')
  }

  async function answerStream(response: ServerResponse): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(FRAMES.slice(0, FRAMES_BEFORE_PAUSE).join(''))
    upstream.onStage('half-sent')
    await upstream.continueAfter
    await sleep(Math.random() * DELAY_MS_MAX)
    response.end(FRAMES.slice(FRAMES_BEFORE_PAUSE).join(''))
  }
  return upstream
}

/** Resolves when so many requests have come to the stage. */
export function untilReached(upstream: ChaosUpstream, stage: UpstreamStage, requests: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const before = upstream.onStage
  let left = requests
  upstream.onStage = (at) => {
    before(at)
    if (at === stage && --left === 0) resolve()
  }
  return promise
}

function rpcAnswer(result: string): string {
  return `{"jsonrpc":"2.0","id":1,"result":${result}}`
}

const PER_MINUTE = { requestsPerMinute: 1_000_000 }
const OPEN_LIMITS = {
  staff: { text: { XS: { ...PER_MINUTE, tokensPerMinute: 1_000_000_000 } }, rpc: PER_MINUTE },
  abuse: { failures: 1_000_000 },
}

function configFor(origin: string): Record<string, unknown> {
  return {
    providers: [{ id: 'main', kind: 'openai', baseUrl: `${origin}/v1`, timeoutSeconds: 120 }],
    models: testModels(),
    rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: `${origin}/rpc` }] } } },
    limits: OPEN_LIMITS,
  }
}
