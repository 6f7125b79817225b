import type { ConfigFileInput } from './file/schema.ts'
import type { LocalServer } from './local-models.ts'

type ModelInput = NonNullable<ConfigFileInput['models']>[number]
type ProviderInput = NonNullable<ConfigFileInput['providers']>[number]

const SANDBOX_MODELS: readonly ModelInput[] = [
  {
    id: 'sandbox-chat',
    type: 'text',
    providers: [{ id: 'sandbox', model: 'sandbox-chat' }],
    name: 'Sandbox Chat',
    description: 'Deterministic responses for tests, without a real model',
    tier: 'S',
    traits: ['default', 'fastest', 'function_calling_default', 'default_code'],
    contextTokens: 131_072,
    maxCompletionTokens: 8_192,
    capabilities: {
      supportsFunctionCalling: true,
      supportsReasoning: true,
      supportsReasoningEffort: true,
      supportsResponseSchema: true,
    },
    pricing: { input: { usd: 0.15 }, output: { usd: 0.6 }, cache_input: { usd: 0.075 } },
  },
  {
    id: 'sandbox-reasoner',
    type: 'text',
    providers: [{ id: 'sandbox', model: 'sandbox-reasoner' }],
    name: 'Sandbox Reasoner',
    description: 'Deterministic responses with reasoning, for tests, without a real model',
    tier: 'M',
    traits: ['default_reasoning', 'most_intelligent'],
    contextTokens: 131_072,
    maxCompletionTokens: 16_384,
    capabilities: { supportsReasoning: true, supportsReasoningEffort: true },
    pricing: { input: { usd: 0.5 }, output: { usd: 2 }, cache_input: { usd: 0.25 } },
  },
  {
    id: 'sandbox-embedding',
    type: 'embedding',
    providers: [{ id: 'sandbox', model: 'sandbox-embedding' }],
    name: 'Sandbox Embedding',
    description: 'Feature hashes, which are close for similar texts; for tests',
    traits: ['default'],
    constraints: { embeddingDimensions: 256, maxInputTokens: 8_192, supportsCustomDimensions: true },
    pricing: { input: { usd: 0.02 }, output: { usd: 0 } },
  },
]

/**
 * The configuration without a file: the sandbox, and the models of servers found on this machine, free until priced.
 */
export function createDefaultFile(localServers: readonly LocalServer[]): ConfigFileInput {
  return {
    providers: [{ id: 'sandbox', kind: 'sandbox' }, ...localServers.map(toProvider)],
    models: [...SANDBOX_MODELS, ...toModels(localServers)],
    compatibility: {
      text: { 'gpt-4o': 'sandbox-chat', 'gpt-4o-mini': 'sandbox-chat' },
      embedding: {
        'text-embedding-ada-002': 'sandbox-embedding',
        'text-embedding-3-small': 'sandbox-embedding',
      },
    },
  }
}

function toProvider({ port }: LocalServer): ProviderInput {
  return { id: `local-${port}`, kind: 'openai', baseUrl: `http://127.0.0.1:${port}/v1` }
}

/** A model that several servers offer becomes one model with several providers. */
function toModels(servers: readonly LocalServer[]): ModelInput[] {
  const providersByModel = new Map<string, ModelInput['providers']>()
  for (const { port, modelIds } of servers) {
    for (const id of modelIds) {
      providersByModel.set(id, [...(providersByModel.get(id) ?? []), { id: `local-${port}`, model: id }])
    }
  }
  const taken = new Set(SANDBOX_MODELS.flatMap(({ id, name }) => [id, name]))
  return [...providersByModel]
    .filter(([id]) => !taken.has(id))
    .map(([id, providers]) => ({
      id,
      type: isEmbeddingName(id) ? 'embedding' : 'text',
      providers,
      pricing: { input: { usd: 0 }, output: { usd: 0 } },
    }))
}

/** `GET /v1/models` does not report the kind of a model, but embedding models carry it in their names. */
function isEmbeddingName(id: string): boolean {
  return /embed|minilm|\bbge-/i.test(id)
}
