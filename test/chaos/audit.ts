import type { Kysely } from 'kysely'
import type { Database } from '../../server/db/schema.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { toUuid } from '../../server/domain/ids.ts'
import { createMoneyHarness } from '../support/money-harness.ts'
import type { Answer } from './request.ts'

export interface AuditedAccount {
  accountId: string
  grantNanoUsd: bigint
}

/**
 * Holds a client's history against the ledger, after the holds of dead processes were swept. Returns one sentence for
 * each promise that was broken, none when all hold: every complete answer has exactly one charge, the one it named; no
 * request was charged twice; no refusal was charged; nothing is held; the balance is the grant minus the charges; the
 * ledger's own invariants stand.
 */
export async function auditAccount(
  db: Kysely<Database>,
  { accountId, grantNanoUsd }: AuditedAccount,
  answers: readonly Answer[],
): Promise<string[]> {
  const { sweeper, ledger } = createMoneyHarness(db, systemClock)
  await sweeper.sweep(0)
  const charges = await readCharges(db, accountId)
  const held = await db.selectFrom('holds').select('request_id').where('account_id', '=', accountId).execute()
  const [usd] = await ledger.balances(accountId)
  const total = [...charges.values()].flat().reduce((sum, amount) => sum + amount, 0n)
  const { checks } = await ledger.verify()
  return [
    ...answers.flatMap((answer) => findWrongCharge(answer, charges)),
    ...[...charges].filter(([, { length }]) => length > 1).map(([id]) => `request ${id} was charged twice`),
    ...held.map(({ request_id }) => `the hold of request ${request_id} is left`),
    ...(usd?.heldNanoUsd === 0n ? [] : [`${usd?.heldNanoUsd} nano-USD are held by nobody`]),
    ...(usd?.balanceNanoUsd === grantNanoUsd - total
      ? []
      : [`the balance is ${usd?.balanceNanoUsd}, and ${grantNanoUsd} - ${total} were right`]),
    ...checks.filter(({ ok }) => !ok).map(({ id, violations }) => `invariant ${id}: ${violations.join(', ')}`),
  ]
}

/** Amounts by request, so that a second charge would show. */
async function readCharges(db: Kysely<Database>, accountId: string): Promise<Map<string, bigint[]>> {
  const rows = await db
    .selectFrom('ledger_transfers')
    .select(['request_id', 'amount_nano'])
    .where('account_id', '=', accountId)
    .where('kind', '=', 'charge')
    .execute()
  const charges = new Map<string, bigint[]>()
  for (const { request_id, amount_nano } of rows) {
    const id = request_id ?? 'none'
    charges.set(id, [...(charges.get(id) ?? []), amount_nano])
  }
  return charges
}

function findWrongCharge(answer: Answer, charges: ReadonlyMap<string, readonly bigint[]>): string[] {
  const { requestId, kind, status, complete, costNanoUsd } = answer
  const name = `${kind} request ${requestId}`
  const charged = requestId === null ? [] : (charges.get(toUuid(requestId)) ?? [])
  if (complete) {
    if (charged.length === 0) return [`the complete ${name} has no charge`]
    return charged[0] === costNanoUsd ? [] : [`the ${name} says it cost ${costNanoUsd}, and ${charged[0]} were charged`]
  }
  return status !== null && status >= 400 && charged.length > 0
    ? [`the ${name}, refused with ${status}, was charged`]
    : []
}
