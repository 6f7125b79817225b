import type { ApiKey } from '../../server/domain/api-keys/api-key.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { InvalidInput, withExpectedFailures } from '../failures.ts'
import { ApiKeyObject, LimitPeriodEnum, ModelPrivacyEnum } from './api-key.ts'
import { ApiKeyLimitsInput, UpdateApiKeyArguments } from './inputs.ts'

const UpdateApiKeyInput = builder.inputType('UpdateApiKeyInput', {
  description: 'What to change about a key. What is absent stays as it is.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [ApiKeyObject], description: '`ApiKey.id` of the key.' }),
    description: t.string({ description: 'What the key is for; up to 64 characters.' }),
    limits: t.field({ type: ApiKeyLimitsInput, description: 'New limits; null removes one, an absent one stays.' }),
    limitPeriod: t.field({ type: LimitPeriodEnum, description: 'When its spending starts again from zero.' }),
    modelPrivacy: t.field({ type: ModelPrivacyEnum, description: 'Which models it may call.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it stops working; null is never.' }),
  }),
})

const UpdateApiKeySuccess = builder.objectRef<{ apiKey: ApiKey }>('UpdateApiKeySuccess').implement({
  description: 'The key was changed.',
  fields: (t) => ({
    apiKey: t.field({ type: ApiKeyObject, description: 'The key as it is now.', resolve: ({ apiKey }) => apiKey }),
  }),
})

builder.mutationField('updateApiKey', (t) =>
  t.field({
    type: UpdateApiKeySuccess,
    description: 'Changes an active API key.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: UpdateApiKeyInput, required: true, description: 'What to change.' }) },
    errors: {
      types: [InvalidInput],
      union: { name: 'UpdateApiKeyPayload', description: 'The changed key, or why it was not changed.' },
    },
    resolve: (_root, { input }, context) =>
      withExpectedFailures(async () => {
        const changes = parseInput(UpdateApiKeyArguments, { ...input, id: input.id.id })
        return { apiKey: await context.services.access.apiKeys.update(requireCaller(context).accountId, changes) }
      }),
  }),
)
