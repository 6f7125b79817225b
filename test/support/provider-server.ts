import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { findFault, sendJson } from './provider-faults.ts'
import { chatJson, embeddingsJson, MODELS_JSON, streamFrames } from './provider-replies.ts'

export interface RecordedRequest {
  path: string
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
  /** The client left before the answer was complete. */
  aborted: boolean
}

export interface ProviderServerOptions {
  port?: number
  /** Content deltas of a stream; 20 make 23 events with role, finish and usage. */
  contentChunks?: number
  /** Sends each event in a turn of its own, as a model does; otherwise all leave in one write. */
  spread?: boolean
  /** Off in benchmarks, where requests are not parsed beyond what the answer needs. */
  record?: boolean
}

export interface ProviderServer extends AsyncDisposable {
  /** Base URL including `/v1`. */
  url: string
  requests: RecordedRequest[]
  /** Applies to the next `times` requests (default: all) that do not name a fault themselves; undefined ends it. */
  setFault(name: string | undefined, times?: number): void
  close(): Promise<void>
}

const STREAM_HEAD = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
const FAULT = /\[\[fault:([a-z0-9-]+)\]\]/

interface Replies {
  json: Buffer
  withUsage: Buffer[]
  withoutUsage: Buffer[]
}

function buildReplies(contentChunks: number): Replies {
  const deltas = Array.from({ length: contentChunks }, (_, index) => ({ content: index === 0 ? 'token' : ' token' }))
  const chunks = contentChunks === 20 ? undefined : deltas
  return {
    json: Buffer.from(chatJson()),
    withUsage: streamFrames(chunks).map((frame) => Buffer.from(frame)),
    withoutUsage: streamFrames(chunks, null).map((frame) => Buffer.from(frame)),
  }
}

/**
 * A stand-in for an OpenAI-compatible model server. The last user message may name a fault as `[[fault:<name>]]`
 * (`provider-faults.ts` lists them), so that any client can trigger it through whatever stands in between.
 */
export async function startProviderServer(options: ProviderServerOptions = {}): Promise<ProviderServer> {
  const { port = 0, contentChunks = 20, record = true, spread = false } = options
  const replies = buildReplies(contentChunks)
  const requests: RecordedRequest[] = []
  let standing: { name: string; times: number } | undefined

  function takeFault(text: string): string | undefined {
    const named = text.includes('[[fault:') ? FAULT.exec(text)?.[1] : undefined
    if (named !== undefined || standing === undefined) return named
    standing.times -= 1
    const { name, times } = standing
    if (times <= 0) standing = undefined
    return name
  }

  function answer(request: IncomingMessage, response: ServerResponse, text: string): void {
    if (record) requests.push(recordRequest(request, response, text))
    const stream = text.includes('"stream":true') || text.includes('"stream": true')
    const usage = text.includes('"include_usage":true') || text.includes('"include_usage": true')
    const fault = takeFault(text)
    if (fault !== undefined) findFault(fault)(response, { stream, usage })
    else if (request.url?.endsWith('/models') === true) sendJson(response, MODELS_JSON)
    else if (request.url?.endsWith('/embeddings') === true) sendJson(response, embeddingsReply(text))
    else if (stream) sendStream(response, usage ? replies.withUsage : replies.withoutUsage, spread)
    else sendJson(response, replies.json)
  }

  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => answer(request, response, Buffer.concat(parts).toString()))
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    setFault(name, times = Number.POSITIVE_INFINITY) {
      standing = name === undefined ? undefined : { name, times }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function sendStream(response: ServerResponse, frames: readonly Buffer[], spread: boolean): void {
  response.writeHead(200, STREAM_HEAD)
  if (spread) {
    sendSpread(response, frames, 0)
    return
  }
  for (const frame of frames) response.write(frame)
  response.end()
}

function sendSpread(response: ServerResponse, frames: readonly Buffer[], at: number): void {
  if (at === frames.length || response.destroyed) {
    response.end()
    return
  }
  response.write(frames[at])
  setImmediate(() => sendSpread(response, frames, at + 1))
}

function recordRequest(request: IncomingMessage, response: ServerResponse, text: string): RecordedRequest {
  const recorded: RecordedRequest = {
    path: request.url ?? '',
    headers: request.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    aborted: false,
  }
  response.on('close', () => {
    recorded.aborted = !response.writableFinished
  })
  return recorded
}

function embeddingsReply(text: string): string {
  const body = JSON.parse(text) as { input?: unknown; dimensions?: number; encoding_format?: string }
  const count = Array.isArray(body.input) ? body.input.length : 1
  return embeddingsJson({ count, dimensions: body.dimensions ?? 8, base64: body.encoding_format === 'base64' })
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { port: { type: 'string' }, chunks: { type: 'string' }, spread: { type: 'boolean' } },
  })
  const server = await startProviderServer({
    port: Number(values.port ?? 9_000),
    contentChunks: Number(values.chunks ?? 20),
    spread: values.spread ?? false,
    record: false,
  })
  console.log(`provider server listens at ${server.url}`)
}
