import { z } from 'zod'
import { MODEL_TYPES, ModelDefinition } from '../../domain/catalogue/model-definition.ts'
import { LimitTable } from '../../domain/rate-limits/limit-table.ts'
import { nameText, proseText } from '../../domain/validation/text.ts'
import { HttpSection } from './http.ts'
import { IdempotencySection } from './idempotency.ts'
import { Provider } from './provider.ts'
import { RpcSection } from './rpc.ts'
import { ServiceSection } from './service.ts'
import { StakingSection } from './staking.ts'
import { UsageSection } from './usage.ts'
import { X402Section } from './x402.ts'

/** A published character of the operator: a system prompt that a caller picks by its slug. */
const Character = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, { error: 'must be lower-case letters, digits and hyphens' }),
  name: nameText(200),
  description: proseText(10_000).nullable().default(null),
  systemPrompt: z.string().min(1),
  modelId: z.string().min(1).optional(),
  tags: z.array(nameText(100)).default([]),
  adult: z.boolean().default(false),
  webEnabled: z.boolean().default(false),
})

/** The form of error bodies unless a request header chooses one. */
const ErrorsSection = z
  .strictObject({
    format: z.enum(['service', 'openai']).default('service').describe('Format of error bodies'),
  })
  .prefault({})

/** The whole of `sluice.yaml`. Each section has defaults, so `{}` is a complete configuration. */
export const ConfigFile = z.strictObject({
  $schema: z.string().optional().describe('Location of this schema, for editors'),
  service: ServiceSection,
  http: HttpSection,
  providers: z.array(Provider).default([]).describe('Providers that serve models'),
  models: z.array(ModelDefinition).default([]).describe('The catalogue: models, their providers and their prices'),
  compatibility: z
    .partialRecord(z.enum(MODEL_TYPES), z.record(nameText(500), z.string()))
    .default({})
    .describe('Aliases by model type: model names of other services, each with its model here'),
  rpc: RpcSection,
  limits: LimitTable,
  usage: UsageSection,
  idempotency: IdempotencySection,
  errors: ErrorsSection,
  x402: X402Section,
  staking: StakingSection,
  characters: z.array(Character).default([]),
})
export type ConfigFile = z.output<typeof ConfigFile>
export type ConfigFileInput = z.input<typeof ConfigFile>
