import { encodeGlobalID } from '@pothos/plugin-relay'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { InvalidInput, withExpectedFailures } from '../failures.ts'
import { ApiKeyObject } from './api-key.ts'

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'The key to revoke.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [ApiKeyObject], description: '`ApiKey.id` of the key.' }),
  }),
})

const RevokeApiKeySuccess = builder.objectRef<{ apiKeyId: string }>('RevokeApiKeySuccess').implement({
  description: 'The key was revoked.',
  fields: (t) => ({
    revokedApiKeyId: t.id({
      description: '`ApiKey.id` of the key that no longer works.',
      resolve: ({ apiKeyId }) => encodeGlobalID('ApiKey', apiKeyId),
    }),
  }),
})

builder.mutationField('revokeApiKey', (t) =>
  t.field({
    type: RevokeApiKeySuccess,
    description:
      'Revokes an API key permanently, in all processes within a second. Open sockets of the key are closed.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'The key to revoke.' }) },
    errors: {
      types: [InvalidInput],
      union: { name: 'RevokeApiKeyPayload', description: 'The revoked key, or the reason why it was not revoked.' },
    },
    resolve: (_root, { input }, context) =>
      withExpectedFailures(async () => {
        const apiKeyId = input.id.id
        await context.services.access.apiKeys.revoke(requireCaller(context).accountId, apiKeyId)
        return { apiKeyId }
      }),
  }),
)
