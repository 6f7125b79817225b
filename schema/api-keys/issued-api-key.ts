import type { IssuedApiKey } from '../../server/domain/api-keys/api-key-issuer.ts'
import { builder } from '../builder.ts'
import { ApiKeyObject } from './api-key.ts'

/** The success type of a mutation that creates a key. */
export function issuedApiKeyType(name: string, description: string) {
  return builder.objectRef<IssuedApiKey>(name).implement({
    description,
    fields: (t) => ({
      apiKey: t.field({ type: ApiKeyObject, description: 'The new key.', resolve: ({ key }) => key }),
      secret: t.exposeString('secret', {
        description: 'The secret to send as `Authorization: Bearer <secret>`. It is never shown again.',
      }),
    }),
  })
}
