import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { builder } from '../builder.ts'
import { toRequestContext } from '../context.ts'
import { InvalidInput, LimitReached, withExpectedFailures } from '../failures.ts'
import { ApiKeyTypeEnum, LimitPeriodEnum, ModelPrivacyEnum } from './api-key.ts'
import { ApiKeyLimitsInput, CreateApiKeyArguments } from './inputs.ts'
import { issuedApiKeyType } from './issued-api-key.ts'

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'A key to create.',
  fields: (t) => ({
    type: t.field({
      type: ApiKeyTypeEnum,
      required: true,
      description: 'What the key may do. This cannot be changed later.',
    }),
    description: t.string({ required: true, description: 'What the key is for; up to 64 characters.' }),
    limits: t.field({
      type: ApiKeyLimitsInput,
      description: 'The amounts that the key may spend in one period; no limit if absent.',
    }),
    limitPeriod: t.field({
      type: LimitPeriodEnum,
      required: true,
      defaultValue: 'EPOCH',
      description: "When the key's spending is reset to zero.",
    }),
    modelPrivacy: t.field({
      type: ModelPrivacyEnum,
      required: true,
      defaultValue: 'ALL',
      description: 'Which models the key may call.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When the key expires; never if absent.' }),
  }),
})

builder.mutationField('createApiKey', (t) =>
  t.field({
    type: issuedApiKeyType('CreateApiKeySuccess', 'The key was created.'),
    description: 'Creates an API key. An account can create 20 keys per minute and have 500 active keys.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key to create.' }) },
    errors: {
      types: [InvalidInput, LimitReached],
      union: { name: 'CreateApiKeyPayload', description: 'The new key, or the reason why it was not created.' },
    },
    resolve: (_root, { input }, context) =>
      withExpectedFailures(() =>
        context.services.access.apiKeys.create(toRequestContext(context), parseInput(CreateApiKeyArguments, input)),
      ),
  }),
)
