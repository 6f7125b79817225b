import type { CommandContext } from './command-context.ts'
import type { OperatorClient } from './operator-client.ts'
import { printFields, printJson } from './output.ts'

type AccountRecord = Awaited<ReturnType<OperatorClient['accounts']['get']['query']>>

export function printAccount(
  account: AccountRecord,
  { json, streams }: { json: true | undefined; streams: CommandContext['streams'] },
): void {
  if (json) {
    printJson(streams, account)
    return
  }
  printFields(streams, {
    'account id': account.accountId,
    name: account.name,
    kind: account.kind,
    wallet: account.wallet === null ? '-' : `${account.wallet.chain} ${account.wallet.address}`,
    tier: account.tier,
    balance: `${account.balances.usd} USD, ${account.balances.diem} DIEM`,
    held: `${account.held.usd} USD, ${account.held.diem} DIEM`,
    stake: `${account.stakeDiem} DIEM per day`,
    created: account.createdAt,
    state:
      account.suspension === null
        ? 'active'
        : `suspended since ${account.suspension.since}: ${account.suspension.reason}`,
  })
}
