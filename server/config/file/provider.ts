import { z } from 'zod'
import { nameText } from '../../domain/validation/text.ts'
import { HttpUrl } from './http-url.ts'

const id = nameText(100).describe('Id by which models refer to the provider')

/** A server that speaks the OpenAI API. */
const OpenAiProvider = z.strictObject({
  id,
  kind: z.literal('openai'),
  baseUrl: HttpUrl.describe('Base URL including the version, such as https://api.example.com/v1'),
  apiKey: z.string().min(1).optional(),
  timeoutSeconds: z.number().positive().max(86_400).default(600),
})

/** The test mode: deterministic answers made in this process. */
const SandboxProvider = z.strictObject({ id, kind: z.literal('sandbox') })

export const Provider = z.discriminatedUnion('kind', [OpenAiProvider, SandboxProvider])
export type Provider = z.output<typeof Provider>
