import { NANO_USD_PER_USD } from '../domain/money.ts'
import type { Services } from '../domain/services.ts'

const SANDBOX_CREDIT_USD = 25n

/**
 * Creates an account with an ADMIN key on an empty embedded instance and returns the key; undefined if accounts exist.
 */
export async function createFirstAccount(services: Services): Promise<string | undefined> {
  const { items } = await services.accounts.list({ first: 1 })
  if (items.length > 0) return undefined
  const { adminKey } = await services.accounts.create({
    name: 'first',
    tier: 'standard',
    grantNanoUsd: SANDBOX_CREDIT_USD * NANO_USD_PER_USD,
  })
  return adminKey
}
