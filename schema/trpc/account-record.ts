import type { AccountWithBalances } from '../../server/domain/accounts/account.ts'
import type { Balance } from '../../server/domain/ledger/ledger.ts'
import { type Currency, formatUsd } from '../../server/domain/money.ts'

/** An account for the operator; amounts are exact decimal strings in USD and DIEM. */
export function toAccountRecord(account: AccountWithBalances) {
  return {
    accountId: account.id,
    name: account.name,
    kind: account.kind,
    wallet: account.wallet,
    tier: account.tier,
    balances: byCurrency(account.balances, (balance) => balance.balanceNanoUsd),
    held: byCurrency(account.balances, (balance) => balance.heldNanoUsd),
    stakeDiem: formatUsd(account.stakeDiemNano),
    createdAt: account.createdAt.toISOString(),
    suspension:
      account.suspension === null
        ? null
        : { since: account.suspension.since.toISOString(), reason: account.suspension.reason },
  }
}

function byCurrency(balances: readonly Balance[], amountOf: (balance: Balance) => bigint) {
  const of = (currency: Currency): string => {
    const balance = balances.find((candidate) => candidate.currency === currency)
    return formatUsd(balance === undefined ? 0n : amountOf(balance))
  }
  return { usd: of('usd'), diem: of('diem') }
}
