import type { InferenceProvider } from '../../domain/inference/providers/provider.ts'
import { createOpenAiProvider, type OpenAiProviderOptions } from './openai-provider.ts'
import { createSandboxProvider } from './sandbox/sandbox-provider.ts'

export type ProviderSettings = ({ kind: 'openai' } & OpenAiProviderOptions) | { kind: 'sandbox'; id: string }

export function createProviders(settings: readonly ProviderSettings[]): Map<string, InferenceProvider> {
  return new Map(
    settings.map((entry) => [
      entry.id,
      entry.kind === 'openai' ? createOpenAiProvider(entry) : createSandboxProvider({ id: entry.id }),
    ]),
  )
}
