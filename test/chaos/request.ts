import type { IncomingHttpHeaders } from 'node:http'
import { type Dispatcher, request } from 'undici'
import { z } from 'zod'

export const REQUEST_KINDS = ['chat', 'stream', 'rpc'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

const NANO_USD_PER_CREDIT = 625n

/** What a client knows of one request when it is over. */
export interface Answer {
  kind: RequestKind
  /** From `CF-RAY`; null when no headers came. */
  requestId: string | null
  status: number | null
  /** The whole success arrived: a JSON body to its last byte, or a stream with its cost and `[DONE]`. */
  complete: boolean
  /** What the answer says it cost; null where it does not say. */
  costNanoUsd: bigint | null
  text: string
}

export interface Sender {
  url: string
  key: string
  dispatcher?: Dispatcher
  /** Told when the headers are there. */
  onHead?: (answer: Answer) => void
}

const Cost = z.object({ cost: z.object({ usd: z.number() }) })

const messages = [{ role: 'user', content: 'Say something.' }]
const MAX_TOKENS = 32
const BODIES: Record<RequestKind, { path: string; body: object }> = {
  chat: { path: '/chat/completions', body: { model: 'test-model', max_tokens: MAX_TOKENS, messages } },
  stream: { path: '/chat/completions', body: { model: 'test-model', max_tokens: MAX_TOKENS, messages, stream: true } },
  rpc: {
    path: '/crypto/rpc/ethereum-mainnet',
    body: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
  },
}

/** Sends one request and keeps whatever came of its answer. Never rejects: a lost connection is an answer, too. */
export async function send(kind: RequestKind, { url, key, dispatcher, onHead }: Sender): Promise<Answer> {
  const answer: Answer = { kind, requestId: null, status: null, complete: false, costNanoUsd: null, text: '' }
  const { path, body } = BODIES[kind]
  let ended = false
  let credits: string | undefined
  try {
    const response = await request(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(dispatcher === undefined ? {} : { dispatcher }),
    })
    answer.requestId = headerOf(response.headers, 'cf-ray') ?? null
    answer.status = response.statusCode
    credits = headerOf(response.headers, 'x-service-rpc-credits')
    onHead?.(answer)
    const decoder = new TextDecoder()
    for await (const chunk of response.body) answer.text += decoder.decode(chunk as Buffer, { stream: true })
    ended = true
  } catch {
    // The connection broke: what had arrived by then is what counts.
  }
  answer.costNanoUsd = kind === 'rpc' ? rpcCost(credits) : chatCost(answer.text)
  const whole = kind === 'stream' ? answer.text.endsWith('data: [DONE]\n\n') && answer.costNanoUsd !== null : ended
  answer.complete = answer.status === 200 && whole
  return answer
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

function rpcCost(credits: string | undefined): bigint | null {
  return credits === undefined ? null : BigInt(credits) * NANO_USD_PER_CREDIT
}

function chatCost(text: string): bigint | null {
  const json = /\{.*"cost":\{.*\}/.exec(text)?.[0]
  if (json === undefined) return null
  try {
    return BigInt(Math.round(Cost.parse(JSON.parse(json)).cost.usd * 1e9))
  } catch {
    return null
  }
}
