import type { ApiKey } from '../../server/domain/api-keys/api-key.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { InvalidInput, withExpectedFailures } from '../failures.ts'
import { ApiKeyObject, LimitPeriodEnum, ModelPrivacyEnum } from './api-key.ts'
import { ApiKeyLimitsInput, UpdateApiKeyArguments } from './inputs.ts'

const UpdateApiKeyInput = builder.inputType('UpdateApiKeyInput', {
  description: 'Changes to a key. Absent fields stay as they are.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [ApiKeyObject], description: '`ApiKey.id` of the key.' }),
    description: t.string({ description: 'What the key is for; up to 64 characters.' }),
    limits: t.field({
      type: ApiKeyLimitsInput,
      description: 'New limits. Null removes a limit; an absent limit stays.',
    }),
    limitPeriod: t.field({ type: LimitPeriodEnum, description: "When the key's spending is reset to zero." }),
    modelPrivacy: t.field({ type: ModelPrivacyEnum, description: 'Which models the key may call.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'When the key expires; null means never.' }),
  }),
})

const UpdateApiKeySuccess = builder.objectRef<{ apiKey: ApiKey }>('UpdateApiKeySuccess').implement({
  description: 'The key was changed.',
  fields: (t) => ({
    apiKey: t.field({ type: ApiKeyObject, description: 'The key after the change.', resolve: ({ apiKey }) => apiKey }),
  }),
})

builder.mutationField('updateApiKey', (t) =>
  t.field({
    type: UpdateApiKeySuccess,
    description: 'Changes an active API key.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: UpdateApiKeyInput, required: true, description: 'The changes.' }) },
    errors: {
      types: [InvalidInput],
      union: { name: 'UpdateApiKeyPayload', description: 'The changed key, or the reason why it was not changed.' },
    },
    resolve: (_root, { input }, context) =>
      withExpectedFailures(async () => {
        const changes = parseInput(UpdateApiKeyArguments, { ...input, id: input.id.id })
        return { apiKey: await context.services.access.apiKeys.update(requireCaller(context).accountId, changes) }
      }),
  }),
)
