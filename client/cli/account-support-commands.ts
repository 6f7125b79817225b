import type { Command } from 'commander'
import { parseLimit } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { assertConfirmed } from './confirmation.ts'
import { printJson, printTable } from './output.ts'
import { printAccount } from './print-account.ts'
import { readPages } from './read-pages.ts'

const ROWS_DEFAULT = 20

interface StateOptions {
  reason: string
  yes?: true
  json?: true
}

interface HistoryOptions {
  limit: number
  json?: true
}

/** The `account …` commands for support. */
export function addAccountSupportCommands(account: Command, context: CommandContext): void {
  addRename(account, context)
  addSuspend(account, context)
  addResume(account, context)
  addLedger(account, context)
  addRequests(account, context)
}

function addRename(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('rename')
    .description('rename an account')
    .argument('<accountId>')
    .argument('<name>')
    .option('--json', 'print JSON')
    .action(async (accountId: string, name: string, { json }: { json?: true }) => {
      const client = await connect()
      printAccount(await client.accounts.rename.mutate({ accountId, name }), { json, streams })
    })
}

function addSuspend(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('suspend')
    .description('reject all requests of an account until it is resumed; its balance stays')
    .argument('<accountId>')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .option('--yes', 'skip the confirmation')
    .option('--json', 'print JSON')
    .action(async (accountId: string, { reason, yes, json }: StateOptions) => {
      assertConfirmed(yes, `this rejects every request of the account ${accountId}`)
      const client = await connect()
      printAccount(await client.accounts.suspend.mutate({ accountId, reason }), { json, streams })
    })
}

function addResume(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('resume')
    .description('resume a suspended account')
    .argument('<accountId>')
    .requiredOption('--reason <text>', 'reason, for the audit log')
    .option('--json', 'print JSON')
    .action(async (accountId: string, { reason, json }: StateOptions) => {
      const client = await connect()
      printAccount(await client.accounts.resume.mutate({ accountId, reason }), { json, streams })
    })
}

function addLedger(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('ledger')
    .description('list the ledger transfers of an account, newest first')
    .argument('<accountId>')
    .option('--limit <count>', 'maximum number of rows', parseLimit, ROWS_DEFAULT)
    .option('--json', 'print JSON')
    .action(async (accountId: string, { limit, json }: HistoryOptions) => {
      const client = await connect()
      const transfers = await readPages(async (page) => {
        const { transfers: items, ...rest } = await client.accounts.ledger.query({ accountId, ...page })
        return { items, ...rest }
      }, limit)
      if (json) printJson(streams, transfers)
      else
        printTable(
          streams,
          transfers.map(({ createdAt, kind, currency, amount, balanceAfter, requestId, reason }) => ({
            at: createdAt,
            kind,
            amount: `${amount} ${currency.toUpperCase()}`,
            balance: balanceAfter,
            request: requestId ?? '-',
            reason: reason ?? '-',
          })),
        )
    })
}

function addRequests(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('requests')
    .description('list the finished requests of an account, newest first')
    .argument('<accountId>')
    .option('--limit <count>', 'maximum number of rows', parseLimit, ROWS_DEFAULT)
    .option('--json', 'print JSON')
    .action(async (accountId: string, { limit, json }: HistoryOptions) => {
      const client = await connect()
      const requests = await readPages(async (page) => {
        const { requests: items, ...rest } = await client.accounts.requests.query({ accountId, ...page })
        return { items, ...rest }
      }, limit)
      if (json) printJson(streams, requests)
      else
        printTable(
          streams,
          requests.map(({ requestId, admittedAt, sku, outcome, charge, currency, upstreamId, durationMs }) => ({
            at: admittedAt,
            request: requestId,
            sku,
            outcome,
            charge: `${charge} ${currency.toUpperCase()}`,
            upstream: upstreamId ?? '-',
            ms: String(durationMs),
          })),
        )
    })
}
