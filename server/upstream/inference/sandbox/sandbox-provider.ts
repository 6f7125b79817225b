import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import type { z } from 'zod'
import { type Clock, systemClock } from '../../../domain/clock.ts'
import type { InferenceProvider, ProviderResponse } from '../../../domain/inference/providers/provider.ts'
import { answerChat, digest } from './chat-answer.ts'
import { ChatRequest, lastUserText } from './chat-request.ts'
import { countUsage } from './chat-usage.ts'
import { type ChatReply, type StreamOptions, type StreamStep, toChatJson, toChatStream } from './chat-wire.ts'
import { answerEmbeddings, EmbeddingsRequest } from './embeddings.ts'
import { findForcedFailure } from './forced-failure.ts'
import { errorResponse, jsonResponse } from './json-response.ts'
import { readMagic } from './magic.ts'
import { loadTokenizer } from './tokenizer.ts'

const SLOW_CHUNK_MS = 20
const MAX_SLOW_CHUNKS = 250
const LATE_TURNS = 5
const FRAMES_PER_TURN = 64

export interface SandboxProviderOptions {
  id: string
  clock?: Clock
}

/**
 * The platform's test mode: deterministic responses in OpenAI's form, created in this process and labelled `[sandbox]`.
 * Magic prompts force each failure; `docs/sandbox.md` lists them.
 */
export function createSandboxProvider({ id, clock = systemClock }: SandboxProviderOptions): InferenceProvider {
  return {
    id,
    kind: 'sandbox',
    async send(request) {
      request.signal.throwIfAborted()
      const { operation, model, body, signal } = request
      const call: SandboxCall = { body: body.kind === 'json' ? { ...body.value, model } : {}, signal }
      if (operation === 'chat') return sendChat(call, clock)
      if (operation === 'embeddings') return sendEmbeddings(call)
      return errorResponse(404, `the sandbox has no operation ${operation}`)
    },
    close: async () => undefined,
  }
}

interface SandboxCall {
  body: Record<string, unknown>
  signal: AbortSignal
}

async function sendChat({ body, signal }: SandboxCall, clock: Clock): Promise<ProviderResponse> {
  const parsed = ChatRequest.safeParse(body)
  if (!parsed.success) return invalid(parsed.error)
  const chat = parsed.data
  const magic = readMagic(lastUserText(chat))
  const failure = await findForcedFailure(magic, signal)
  if (failure !== undefined) return failure
  const tokenizer = await loadTokenizer()
  const choices = answerChat(chat, magic, tokenizer)
  const reply: ChatReply = {
    id: `chatcmpl-${digest(body).slice(0, 32)}`,
    model: chat.model,
    createdSeconds: Math.floor(clock.nowMs() / 1_000),
    choices,
    usage: countUsage(chat, choices, { magic, tokenizer }),
  }
  if (chat.stream !== true) return jsonResponse(200, toChatJson(reply))
  const options: StreamOptions = { includeUsage: chat.stream_options?.include_usage === true, magic, tokenizer }
  return {
    status: 200,
    contentType: 'text/event-stream; charset=utf-8',
    retryAfterSeconds: undefined,
    body: play(toChatStream(reply, options), signal),
  }
}

async function sendEmbeddings({ body, signal }: SandboxCall): Promise<ProviderResponse> {
  const parsed = EmbeddingsRequest.safeParse(body)
  if (!parsed.success) return invalid(parsed.error)
  const { input } = parsed.data
  const failure = await findForcedFailure(readMagic(typeof input === 'string' ? input : String(input[0])), signal)
  return failure ?? jsonResponse(200, await answerEmbeddings(parsed.data, signal))
}

/** Plays a stream's steps; long responses yield to the event loop now and then. */
async function* play(steps: Iterable<StreamStep>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let frames = 0
  let slow = 0
  for (const step of steps) {
    signal.throwIfAborted()
    if ('frame' in step) {
      yield Buffer.from(step.frame)
      frames += 1
      if (frames % FRAMES_PER_TURN === 0) await nextTurn()
    } else if (step.pause === 'turns') {
      for (let turn = 0; turn < LATE_TURNS; turn += 1) await nextTurn(undefined, { signal })
    } else if (slow < MAX_SLOW_CHUNKS) {
      slow += 1
      await wait(SLOW_CHUNK_MS, undefined, { signal })
    }
  }
}

function invalid(error: z.ZodError): ProviderResponse {
  const [issue] = error.issues
  return errorResponse(400, `${issue?.path.join('.') ?? 'body'}: ${issue?.message ?? 'invalid'}`)
}
