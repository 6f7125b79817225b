import type { KeyCaller } from '../../server/domain/caller.ts'

/** A caller with an INFERENCE key of the standard tier. */
export function keyCaller(overrides: Partial<KeyCaller> = {}): KeyCaller {
  return {
    kind: 'key',
    accountId: '018f0000-0000-7000-8000-000000000001',
    keyId: '018f0000-0000-7000-8000-000000000002',
    keyType: 'INFERENCE',
    tier: 'standard',
    modelPrivacy: 'ALL',
    expiresAt: null,
    ...overrides,
  }
}
