import { Argument, type Command, Option } from 'commander'
import type { AccountTier } from '../../server/domain/caller.ts'
import { addAccountSupportCommands } from './account-support-commands.ts'
import { parseAmount, parseLimit, parseSignedAmount } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { examples } from './examples.ts'
import { printFields, printJson, printTable } from './output.ts'
import { printAccount } from './print-account.ts'
import { readPages } from './read-pages.ts'

const TIERS = ['standard', 'partner', 'staff'] satisfies AccountTier[]

interface JsonOption {
  json?: true
}

interface ChangeOptions extends JsonOption {
  reason?: string
}

/** `account …`: every command takes `--json`, whose shape is stable. */
export function addAccountCommands(program: Command, context: CommandContext): void {
  const account = program
    .command('account')
    .description('accounts, their credit, tier and stake')
    .addHelpText(
      'after',
      examples(
        'account create --name demo --grant-usd 50',
        'account list --search demo --json',
        'account grant <accountId> 10 --reason "goodwill, ticket 812" --reference ticket-812',
        'account grant <accountId> --reason "granted twice" -- -10',
        'account suspend <accountId> --reason "chargeback" --yes',
      ),
    )
  addCreate(account, context)
  addList(account, context)
  addShow(account, context)
  addGrant(account, context)
  addSetTier(account, context)
  addSetStake(account, context)
  addAccountSupportCommands(account, context)
}

function addCreate(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('create')
    .description('create an account with an ADMIN key, which is shown only once')
    .requiredOption('--name <name>', 'name of the account')
    .option('--grant-usd <amount>', 'initial credit in USD', parseAmount)
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

interface ListOptions extends JsonOption {
  search?: string
  kind?: 'user' | 'wallet'
  tier?: AccountTier
  suspended?: true
  wallet?: string
  keyEndsWith?: string
  limit?: number
}

function addList(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('list')
    .description('list accounts that match all options, newest first')
    .option('--search <text>', 'part of the name')
    .addOption(new Option('--kind <kind>', 'kind of the account').choices(['user', 'wallet']))
    .addOption(new Option('--tier <tier>', 'rate limits of the account').choices(TIERS))
    .option('--suspended', 'only suspended accounts')
    .option('--wallet <address>', 'EVM or Solana address')
    .option('--key-ends-with <characters>', 'last 6 characters of one of its keys')
    .option('--limit <count>', 'maximum number of rows', parseLimit)
    .option('--json', 'print JSON')
    .action(async ({ json, limit, ...filter }: ListOptions) => {
      const client = await connect()
      const rows = await readPages(async (page) => {
        const { accounts: items, ...rest } = await client.accounts.list.query({ ...filter, ...page })
        return { items, ...rest }
      }, limit)
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
        rows.map(({ accountId, name, kind, tier, balances, suspension }) => ({
          'account id': accountId,
          name,
          kind,
          tier,
          usd: balances.usd,
          diem: balances.diem,
          state: suspension === null ? 'active' : 'suspended',
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
    .description('add credit to an account; a negative amount takes credit back')
    .argument('<accountId>')
    .argument('<usd>', 'amount in USD', parseSignedAmount)
    .requiredOption('--reason <text>', 'reason, for the ledger')
    .option('--reference <text>', 'a repeat with the same reference changes nothing')
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
    .option('--reason <text>', 'reason, for the audit log')
    .option('--json', 'print JSON')
    .action(async (accountId: string, tier: AccountTier, { reason, json }: ChangeOptions) => {
      const client = await connect()
      printAccount(await client.accounts.setTier.mutate({ accountId, tier, reason }), { json, streams })
    })
}

function addSetStake(account: Command, { connect, streams }: CommandContext): void {
  account
    .command('set-stake')
    .description('set the daily DIEM allowance of an account')
    .argument('<accountId>')
    .argument('<diem>', 'DIEM per day', parseAmount)
    .option('--reason <text>', 'reason, for the audit log')
    .option('--json', 'print JSON')
    .action(async (accountId: string, stakeDiem: string, { reason, json }: ChangeOptions) => {
      const client = await connect()
      printAccount(await client.accounts.setStake.mutate({ accountId, stakeDiem, reason }), { json, streams })
    })
}
