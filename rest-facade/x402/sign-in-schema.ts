const text = { type: 'string' } as const

/** JSON Schema of a wallet's proof, as x402's sign-in extension publishes it with each challenge. */
export const SIGN_IN_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    domain: text,
    address: text,
    statement: text,
    uri: { ...text, format: 'uri' },
    version: text,
    chainId: text,
    type: text,
    signatureScheme: text,
    nonce: text,
    issuedAt: { ...text, format: 'date-time' },
    expirationTime: { ...text, format: 'date-time' },
    notBefore: { ...text, format: 'date-time' },
    requestId: text,
    resources: { type: 'array', items: { ...text, format: 'uri' } },
    signature: text,
  },
  required: ['domain', 'address', 'uri', 'version', 'chainId', 'type', 'nonce', 'issuedAt', 'signature'],
} as const
