import type { z } from 'zod'
import type { CredentialWatch } from '../../server/domain/auth/credential-watch.ts'
import type { KeyCaller } from '../../server/domain/caller.ts'
import { Catalogue } from '../../server/domain/catalogue/catalogue.ts'
import type { ModelDefinition } from '../../server/domain/catalogue/model-definition.ts'
import { ChatService, type ChatStream } from '../../server/domain/inference/chat/chat-service.ts'
import type { ProviderRouter } from '../../server/domain/inference/providers/provider-router.ts'
import { TokenCounter } from '../../server/domain/inference/tokens/token-counter.ts'
import { MeteredRuns } from '../../server/domain/metering/metered-runs.ts'
import { LimitTable } from '../../server/domain/rate-limits/limit-table.ts'
import { RatePlans } from '../../server/domain/rate-limits/rate-plans.ts'
import { keyCaller } from './callers.ts'
import { createFakeClock } from './fake-clock.ts'
import { createFakeMetering } from './fake-metering.ts'
import { createRecordingLog } from './recording-log.ts'
import { modelDefinition } from './text-models.ts'

export interface ChatHarnessOptions {
  router: Pick<ProviderRouter, 'send'>
  /** What the model `m` has beside its prices: 1,000 nano-USD for an input token, 2,000 for an output token. */
  model?: Partial<z.input<typeof ModelDefinition>>
  caller?: Partial<KeyCaller>
  balanceNanoUsd?: bigint
  systemPrompts?: string[]
  /** Default: no key ever becomes inactive. */
  credentialWatch?: Pick<CredentialWatch, 'watch'>
}

export const INPUT_NANO = 1_000n
export const OUTPUT_NANO = 2_000n

/** The chat service over a fake money path and a scripted provider. */
export function createChatHarness(options: ChatHarnessOptions) {
  const clock = createFakeClock()
  const metering = createFakeMetering(options.balanceNanoUsd)
  const log = createRecordingLog()
  const counter = new TokenCounter()
  const pricing = { input: { usd: 1 }, output: { usd: 2 }, cache_input: { usd: 0.5 } }
  const models = [modelDefinition({ id: 'm', name: 'Model M', maxCompletionTokens: 1_000, pricing, ...options.model })]
  const catalogue = new Catalogue({ models, compatibility: {}, serviceName: 'service', clock })
  const chat = new ChatService({
    catalogue,
    counter,
    clock,
    log,
    runs: new MeteredRuns({ metering, clock, log }),
    router: options.router,
    credentialWatch: options.credentialWatch ?? { watch: () => () => {} },
    ratePlans: new RatePlans(LimitTable.parse({})),
    serviceName: 'service',
    systemPrompts: options.systemPrompts ?? [],
  })
  const abort = new AbortController()
  const context = { requestId: '0'.repeat(32), caller: keyCaller(options.caller), signal: abort.signal }
  const toBody = (body: object) => ({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...body })
  const plan = (body: object) => chat.plan(context.caller, toBody(body))
  return {
    clock,
    metering,
    log,
    counter,
    chat,
    abort,
    plan,
    context,
    complete: async (body: object = {}) => chat.complete(context, await plan(body)),
    stream: async (body: object = {}) => chat.stream(context, await plan({ stream: true, ...body })),
    /** How the only request ended. */
    get end() {
      return metering.records[0]?.end
    },
    /** What the only request was charged for. */
    get usage() {
      const end = metering.records[0]?.end
      return end?.kind === 'settled' ? end.usage : undefined
    },
  }
}

export async function readText(stream: ChatStream): Promise<string> {
  const pieces: Buffer[] = []
  for await (const bytes of stream.frames) pieces.push(bytes)
  return Buffer.concat(pieces).toString('utf8')
}

interface Chunk {
  model?: string
  choices?: { index: number; delta: { content?: string }; finish_reason: string | null }[]
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
  cost?: { usd: number; diem: number }
  error?: { message: string; code: string; type: string; param: null }
}

/** The parsed chunks of a stream's text; the end mark is the string. */
export function parseStream(text: string): (Chunk | '[DONE]')[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => (frame === 'data: [DONE]' ? '[DONE]' : (JSON.parse(frame.slice(6)) as Chunk)))
}

/** What the first choice says. */
export function contentOf(chunks: readonly (Chunk | '[DONE]')[]): string {
  return chunks.map((chunk) => (chunk === '[DONE]' ? '' : (chunk.choices?.[0]?.delta.content ?? ''))).join('')
}
