import type { SingleUseStore } from '../../server/domain/wallets/sign-in/single-use-store.ts'

/** Single use without a database, for tests whose claims never expire. */
export function createMemoryClaims(): SingleUseStore {
  const claimed = new Set<string>()
  return { claim: async (key) => claimed.size < claimed.add(key).size }
}
