import { RotateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { builder } from '../builder.ts'
import { toRequestContext } from '../context.ts'
import { InvalidInput, LimitReached, withExpectedFailures } from '../failures.ts'
import { ApiKeyObject } from './api-key.ts'
import { issuedApiKeyType } from './issued-api-key.ts'

const RotateApiKeyInputType = builder.inputType('RotateApiKeyInput', {
  description: 'The key to replace.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [ApiKeyObject], description: '`ApiKey.id` of the key.' }),
    graceSeconds: t.int({
      required: true,
      defaultValue: 0,
      description: 'How long the old key keeps working, up to 604800 (7 days); 0 revokes it at once.',
    }),
  }),
})

builder.mutationField('rotateApiKey', (t) =>
  t.field({
    type: issuedApiKeyType('RotateApiKeySuccess', 'The key was replaced.'),
    description: 'Replaces an active API key with a new one that has the same settings. Counts as a key creation.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: RotateApiKeyInputType, required: true, description: 'The key to replace.' }) },
    errors: {
      types: [InvalidInput, LimitReached],
      union: { name: 'RotateApiKeyPayload', description: 'The new key, or the reason why it was not created.' },
    },
    resolve: (_root, { input }, context) =>
      withExpectedFailures(() => {
        const rotation = parseInput(RotateApiKeyInput, { ...input, id: input.id.id })
        return context.services.access.apiKeys.rotate(toRequestContext(context), rotation)
      }),
  }),
)
