import type { ServerResponse } from 'node:http'
import {
  CONTENT_CHUNKS,
  chatJson,
  DONE_FRAME,
  deltaFrame,
  REASONING_DELTAS,
  streamFrames,
  TOOL_CALL,
  TOOL_CALL_DELTAS,
  USAGE,
  type Usage,
  usageFrame,
} from './provider-replies.ts'

export interface FaultRequest {
  stream: boolean
  /** Whether the caller asked for the usage chunk. */
  usage: boolean
}

type Fault = (response: ServerResponse, request: FaultRequest) => void

const HUGE_BODY_BYTES = 32 * 1_024 * 1_024

export function sendJson(response: ServerResponse, body: string | Buffer, status = 200): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body)
}

function sendFrames(response: ServerResponse, frames: readonly (string | Uint8Array)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const frame of frames) response.write(frame)
  response.end()
}

/** Keeps the answer open after the given frames; the client has to leave. */
function sendOpenFrames(response: ServerResponse, frames: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  for (const frame of frames) response.write(frame)
}

const FIRST_FRAMES = streamFrames().slice(0, 4)

function statusFault(status: number, error: object, headers: Record<string, string> = {}): Fault {
  return (response) => {
    const body = JSON.stringify({ error })
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  }
}

function usageFault(usage: Usage | null): Fault {
  return (response, request) => {
    if (request.stream) sendFrames(response, streamFrames(undefined, usage))
    else sendJson(response, chatJson(undefined, usage))
  }
}

/** The regular stream with its bytes written differently. */
function wireFault(rewrite: (text: string) => readonly (string | Uint8Array)[]): Fault {
  return (response, request) =>
    sendFrames(response, rewrite(streamFrames(undefined, request.usage ? USAGE : null).join('')))
}

/** One byte a write around every multi-byte character, so that frames and characters are torn apart on the way. */
function splitAwkwardly(text: string): Uint8Array[] {
  const bytes = Buffer.from(text)
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = (bytes[at] ?? 0) >= 0x80 ? 1 : 7
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

/** Writes the pieces in turns of the event loop, so that the network does not glue them together again. */
function sendTorn(response: ServerResponse, pieces: Uint8Array[]): void {
  const [piece, ...rest] = pieces
  if (piece === undefined || response.destroyed) {
    response.end()
    return
  }
  response.write(piece)
  setImmediate(() => sendTorn(response, rest))
}

function message(delta: object, deltas: object[]): Fault {
  return (response, request) => {
    if (request.stream) sendFrames(response, streamFrames(deltas, request.usage ? USAGE : null))
    else sendJson(response, chatJson({ role: 'assistant', ...delta }))
  }
}

const STATUS_FAULTS: Record<string, Fault> = {
  'status-400': statusFault(400, { message: 'temperature must be at most 2', type: 'invalid_request_error' }),
  'status-401': statusFault(401, { message: 'Incorrect API key provided: sk-secret-0123456789' }),
  'status-403': statusFault(403, { message: 'Country not supported' }),
  'status-404': statusFault(404, { message: 'The model does not exist', code: 'model_not_found' }),
  'status-413': statusFault(413, { message: 'Request too large' }),
  'status-422': statusFault(422, { message: 'messages[0].role is unknown' }),
  'status-429': statusFault(429, { message: 'Rate limit reached' }, { 'retry-after': '7' }),
  'status-500': statusFault(500, { message: 'CUDA out of memory at 10.0.0.7:8000' }),
  'status-503': statusFault(503, { message: 'Service unavailable' }),
  'context-overflow': statusFault(400, {
    message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    code: 'context_length_exceeded',
  }),
  'leaky-error': statusFault(400, {
    message: 'POST https://gpu-7.internal:8443/v1 from 10.1.2.3:9000 failed with Bearer sk-live-abcdef0123456789',
  }),
  redirect: (response) => void response.writeHead(302, { location: '/v1/models' }).end(),
}

const BROKEN_FAULTS: Record<string, Fault> = {
  html: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>'),
  'truncated-json': (response) => {
    const body = chatJson()
    sendJson(response, body.slice(0, body.length / 2))
  },
  'garbage-json': (response) => sendJson(response, 'not json'),
  'reset-before-head': (response) => void response.socket?.resetAndDestroy(),
  'reset-mid-body': (response, request) => {
    const parts = request.stream ? FIRST_FRAMES : [chatJson().slice(0, 40)]
    response.writeHead(200, { 'content-type': request.stream ? 'text/event-stream' : 'application/json' })
    for (const part of parts) response.write(part)
    response.write('', () => setImmediate(() => response.socket?.resetAndDestroy()))
  },
  'hang-before-head': () => undefined,
  'hang-mid-stream': (response) => sendOpenFrames(response, FIRST_FRAMES),
  heartbeat: (response) => {
    sendOpenFrames(response, FIRST_FRAMES)
    const timer = setInterval(() => response.write(': ping\n\n'), 20)
    response.on('close', () => clearInterval(timer))
  },
  'huge-body': (response) => sendJson(response, Buffer.alloc(HUGE_BODY_BYTES, 0x20)),
  'garbage-frame': (response) =>
    sendFrames(response, [...FIRST_FRAMES, 'data: {"choices": [\n\n', ...streamFrames().slice(4)]),
  'stream-error': (response) =>
    sendFrames(response, [...FIRST_FRAMES, 'data: {"error":{"message":"worker died","code":500}}\n\n', DONE_FRAME]),
}

const USAGE_FAULTS: Record<string, Fault> = {
  'usage-missing': usageFault(null),
  'usage-negative': usageFault({ prompt_tokens: -5, completion_tokens: -1, total_tokens: -6 }),
  'usage-fractional': usageFault({ prompt_tokens: 12.5, completion_tokens: 20.25, total_tokens: 32.75 }),
  'usage-absurd': usageFault({ prompt_tokens: 1e12, completion_tokens: 1e12, total_tokens: 2e12 }),
  'usage-text': usageFault({ prompt_tokens: '12', completion_tokens: null }),
  'usage-duplicate': (response) => {
    const [done, usage, ...rest] = streamFrames().toReversed()
    const first = usageFrame({ prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 })
    sendFrames(response, [...rest.toReversed(), first, usage ?? '', done ?? ''])
  },
  /** Ten times the content, whatever `max_tokens` said. */
  overlong: (response, request) => {
    const words = Array.from({ length: 10 }, () => CONTENT_CHUNKS).flat()
    const usage = { prompt_tokens: 12, completion_tokens: 200, total_tokens: 212 }
    if (!request.stream) sendJson(response, chatJson({ role: 'assistant', content: words.join('') }, usage))
    else
      sendFrames(
        response,
        streamFrames(
          words.map((content) => ({ content })),
          usage,
        ),
      )
  },
}

const WIRE_FAULTS: Record<string, Fault> = {
  'no-done': wireFault((text) => [text.slice(0, -DONE_FRAME.length)]),
  'no-finish': wireFault((text) => [text.slice(0, text.indexOf(deltaFrame({}, 'stop')))]),
  crlf: wireFault((text) => [text.replaceAll('\n', '\r\n')]),
  'no-space': wireFault((text) => [text.replaceAll('data: ', 'data:')]),
  comments: wireFault((text) => [`: ping\n\n${text.replaceAll('\n\n', '\n\n: ping\n\n')}`]),
  split: (response, request) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    sendTorn(response, splitAwkwardly(streamFrames(undefined, request.usage ? USAGE : null).join('')))
  },
  'json-for-stream': (response) => sendJson(response, chatJson()),
  'tool-calls': message({ content: null, tool_calls: [TOOL_CALL] }, TOOL_CALL_DELTAS),
  reasoning: message({ content: CONTENT_CHUNKS.join(''), reasoning_content: 'Let me think.' }, REASONING_DELTAS),
}

const FAULTS: Record<string, Fault> = { ...STATUS_FAULTS, ...BROKEN_FAULTS, ...USAGE_FAULTS, ...WIRE_FAULTS }

export function findFault(name: string): Fault {
  const fault = FAULTS[name]
  if (fault === undefined) throw new Error(`unknown fault ${name}; known: ${Object.keys(FAULTS).join(', ')}`)
  return fault
}
