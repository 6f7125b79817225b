import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { appRouter } from '../../schema/trpc/router.ts'
import { OPERATOR_TOKEN } from '../support/app.ts'
import type { Scene } from './scene.ts'

interface Procedure {
  _def: { type: 'query' | 'mutation' | 'subscription'; inputs: { schema: z.ZodType }[] }
}

const built: object = appRouter._def.procedures

/** Every procedure by its path, as the router was built. */
export const PROCEDURES = built as Record<string, Procedure>

/** The input of each procedure with which an operator is served; undefined where it takes none. */
export const TRPC_LINES: Record<string, (scene: Scene) => unknown> = {
  'accounts.create': () => ({ name: 'made by the matrix', grantUsd: '1' }),
  'accounts.list': () => ({ first: 1 }),
  'accounts.get': ({ owner: { accountId } }) => ({ accountId }),
  'accounts.ledger': ({ owner: { accountId } }) => ({ accountId }),
  'accounts.requests': ({ owner: { accountId } }) => ({ accountId }),
  'accounts.grant': ({ owner: { accountId } }) => ({ accountId, amountUsd: '1', reason: 'test' }),
  'accounts.rename': ({ owner: { accountId } }) => ({ accountId, name: 'renamed' }),
  'accounts.suspend': ({ owner: { accountId } }) => ({ accountId, reason: 'test' }),
  'accounts.resume': ({ owner: { accountId } }) => ({ accountId, reason: 'test' }),
  'accounts.setTier': ({ owner: { accountId } }) => ({ accountId, tier: 'staff' }),
  'accounts.setStake': ({ owner: { accountId } }) => ({ accountId, stakeDiem: '1' }),
  'audit.list': () => ({ first: 1 }),
  'catalogue.list': () => undefined,
  'catalogue.get': () => ({ modelId: 'test-model' }),
  'catalogue.setPrice': () => ({
    modelId: 'test-model',
    pricing: { input: { usd: 1 }, output: { usd: 1 } },
    reason: 'test',
  }),
  'catalogue.setAvailability': () => ({ modelId: 'test-model', offline: false, reason: 'test' }),
  'catalogue.setTier': () => ({ modelId: 'test-model', tier: 'M', reason: 'test' }),
  'catalogue.setDeprecation': () => ({ modelId: 'test-model', deprecation: null, reason: 'test' }),
  'catalogue.withdraw': async (scene) => ({ changeId: await plannedChange(scene), reason: 'test' }),
  'catalogue.history': () => ({ first: 1 }),
  'keys.create': ({ owner: { accountId } }) => ({ accountId, type: 'ADMIN', description: 'made' }),
  'keys.list': ({ owner: { accountId } }) => ({ accountId }),
  'keys.revoke': async ({ owner: { accountId }, spareKey }) => ({ accountId, keyId: (await spareKey()).keyId }),
  'limits.get': ({ owner: { accountId } }) => ({ accountId }),
  'limits.set': ({ owner: { accountId } }) => ({
    accountId,
    limits: { image: { requestsPerMinute: 1 } },
    reason: 'test',
  }),
  'limits.clear': ({ owner: { accountId } }) => ({ accountId, reason: 'test' }),
  'limits.refusals': () => ({ first: 1 }),
  'payments.status': () => undefined,
  'payments.reconcile': () => ({}),
  'payments.list': () => ({ first: 1 }),
  // An operator learns that no such payment is stored; everybody else learns nothing.
  'payments.correct': () => ({ paymentId: randomUUID(), reason: 'test' }),
  'platform.verify': () => undefined,
  'platform.verifyPart': () => ({}),
  'platform.health': () => undefined,
  'platform.doctor': () => ({}),
}

/** A change of prices that is not in force yet. */
async function plannedChange({ server }: Scene): Promise<string> {
  const effectiveAt = new Date(Date.now() + 86_400_000).toISOString()
  const response = await fetch(`${server.url}/trpc/catalogue.setTier`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ modelId: 'test-model', tier: 'L', effectiveAt, reason: randomUUID() }),
  })
  const { result } = (await response.json()) as { result: { data: { changeId: string } } }
  return result.data.changeId
}
