import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { builder } from '../builder.ts'
import { toRequestContext } from '../context.ts'
import { InvalidInput, LimitReached, withExpectedFailures } from '../failures.ts'
import { ApiKeyTypeEnum, LimitPeriodEnum, ModelPrivacyEnum } from './api-key.ts'
import { ApiKeyLimitsInput, CreateApiKeyArguments } from './inputs.ts'
import { issuedApiKeyType } from './issued-api-key.ts'

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'A key to make.',
  fields: (t) => ({
    type: t.field({ type: ApiKeyTypeEnum, required: true, description: 'What the key may do; it never changes.' }),
    description: t.string({ required: true, description: 'What the key is for; up to 64 characters.' }),
    limits: t.field({
      type: ApiKeyLimitsInput,
      description: 'What the key may spend in one period; absent is no limit.',
    }),
    limitPeriod: t.field({
      type: LimitPeriodEnum,
      required: true,
      defaultValue: 'EPOCH',
      description: 'When its spending starts again from zero.',
    }),
    modelPrivacy: t.field({
      type: ModelPrivacyEnum,
      required: true,
      defaultValue: 'ALL',
      description: 'Which models it may call.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it stops working; absent is never.' }),
  }),
})

builder.mutationField('createApiKey', (t) =>
  t.field({
    type: issuedApiKeyType('CreateApiKeySuccess', 'The key was made.'),
    description: 'Makes an API key. At most 20 a minute and 500 active ones per account.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key to make.' }) },
    errors: {
      types: [InvalidInput, LimitReached],
      union: { name: 'CreateApiKeyPayload', description: 'The new key, or why there is none.' },
    },
    resolve: (_root, { input }, context) =>
      withExpectedFailures(() =>
        context.services.access.apiKeys.create(toRequestContext(context), parseInput(CreateApiKeyArguments, input)),
      ),
  }),
)
