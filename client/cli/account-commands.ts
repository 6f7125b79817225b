import { Argument, type Command, Option } from 'commander'
import type { AccountTier } from '../../server/domain/auth/caller.ts'
import { parseAmount, parseSignedAmount } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import type { OperatorClient } from './operator-client.ts'
import { printFields, printJson, printTable } from './output.ts'

const TIERS = ['standard', 'partner', 'staff'] satisfies AccountTier[]
const PAGE_SIZE = 100

type AccountRecord = Awaited<ReturnType<OperatorClient['accounts']['get']['query']>>

interface JsonOption {
  json?: true
}

/** `account …`: every command takes `--json`, whose shape is stable. */
export function addAccountCommands(program: Command, context: CommandContext): void {
  const account = program.command('account').description('accounts, their credit, tier and stake')
  addCreate(account, context)
  addList(account, context)
  addShow(account, context)
  addGrant(account, context)
  addSetTier(account, context)
  addSetStake(account, context)
}

function addCreate(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('create')
    .description('make an account with an ADMIN key, which is shown this once')
    .requiredOption('--name <name>', 'what the account is called')
    .option('--grant-usd <amount>', 'credit to begin with, in USD', parseAmount)
    .addOption(new Option('--tier <tier>', 'rate limits of the account').choices(TIERS).default('standard'))
    .option('--json', 'print JSON')
    .action(
      async ({ name, tier, grantUsd, json }: JsonOption & { name: string; tier: AccountTier; grantUsd?: string }) => {
        const client = await connect()
        const { account: made, adminKey } = await client.accounts.create.mutate({ name, tier, grantUsd })
        if (json) printJson(streams, { accountId: made.accountId, adminKey })
        else
          printFields(streams, {
            'account id': made.accountId,
            'admin key': adminKey,
            balance: `${made.balances.usd} USD`,
          })
      },
    )
}

function addList(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('list')
    .description('list all accounts, newest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: JsonOption) => {
      const rows = await listAll(await connect())
      if (json) {
        printJson(
          streams,
          rows.map(({ accountId, name, kind, wallet, tier, balances }) => ({
            accountId,
            name,
            kind,
            wallet,
            tier,
            balances,
          })),
        )
        return
      }
      printTable(
        streams,
        rows.map(({ accountId, name, kind, tier, balances }) => ({
          'account id': accountId,
          name,
          kind,
          tier,
          usd: balances.usd,
          diem: balances.diem,
        })),
      )
    })
}

function addShow(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('show')
    .description('show one account')
    .argument('<accountId>')
    .option('--json', 'print JSON')
    .action(async (accountId: string, { json }: JsonOption) => {
      const client = await connect()
      printAccount(await client.accounts.get.query({ accountId }), { json, streams })
    })
}

function addGrant(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('grant')
    .description('add credit to an account; a negative amount takes back')
    .argument('<accountId>')
    .argument('<usd>', 'amount in USD', parseSignedAmount)
    .requiredOption('--reason <text>', 'why, for the ledger')
    .option('--reference <text>', 'repeats with the same reference change nothing')
    .option('--json', 'print JSON')
    .action(
      async (
        accountId: string,
        amountUsd: string,
        { json, ...words }: JsonOption & { reason: string; reference?: string },
      ) => {
        const client = await connect()
        const granted = await client.accounts.grant.mutate({ accountId, amountUsd, ...words })
        if (json) printJson(streams, { accountId, ...granted })
        else
          printFields(streams, {
            transfer: granted.transferId,
            amount: `${granted.amountUsd} USD`,
            balance: `${granted.balanceAfterUsd} USD`,
          })
      },
    )
}

function addSetTier(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('set-tier')
    .description('change the rate limits of an account')
    .argument('<accountId>')
    .addArgument(new Argument('<tier>').choices(TIERS))
    .option('--json', 'print JSON')
    .action(async (accountId: string, tier: AccountTier, { json }: JsonOption) => {
      const client = await connect()
      printAccount(await client.accounts.setTier.mutate({ accountId, tier }), { json, streams })
    })
}

function addSetStake(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('set-stake')
    .description('set the daily DIEM allowance of an account')
    .argument('<accountId>')
    .argument('<diem>', 'DIEM a day', parseAmount)
    .option('--json', 'print JSON')
    .action(async (accountId: string, stakeDiem: string, { json }: JsonOption) => {
      const client = await connect()
      printAccount(await client.accounts.setStake.mutate({ accountId, stakeDiem }), { json, streams })
    })
}

async function listAll(client: OperatorClient): Promise<AccountRecord[]> {
  const accounts: AccountRecord[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<OperatorClient['accounts']['list']['query']>> = await client.accounts.list.query({
      first: PAGE_SIZE,
      after,
    })
    accounts.push(...page.accounts)
    after = page.hasNextPage ? page.endCursor : null
  } while (after !== null)
  return accounts
}

function printAccount(
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
    stake: `${account.stakeDiem} DIEM a day`,
    created: account.createdAt,
  })
}
