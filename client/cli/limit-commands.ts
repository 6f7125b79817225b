import type { Command } from 'commander'
import { parseLimit } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { examples } from './examples.ts'
import { collectAssignment, type LimitAssignment, toDottedNames, toLimitNumbers } from './limit-assignments.ts'
import type { OperatorClient } from './operator-client.ts'
import { printFields, printJson, printTable } from './output.ts'
import { readPages } from './read-pages.ts'

const ROWS_DEFAULT = 50

const LIMIT_NAMES = `
Names: text.<XS|S|M|L>.requestsPerMinute, text.<…>.tokensPerMinute, <image|audio|embedding|videoQueue|
videoRetrieve>.requestsPerMinute, rpc.requestsPerMinute, rpc.creditsPer24Hours.`

type AccountLimits = Awaited<ReturnType<OperatorClient['limits']['get']['query']>>
type LimitValues = Parameters<OperatorClient['limits']['set']['mutate']>[0]['limits']

interface ChangeOptions {
  key?: string
  reason: string
  json?: true
}

/** `limits …`: limits of individual accounts and keys, and rejected requests. */
export function addLimitCommands(program: Command, context: CommandContext): void {
  const limits = program
    .command('limits')
    .description('limits of accounts and keys, and rejected requests')
    .addHelpText(
      'after',
      examples(
        'limits show <accountId>',
        'limits set <accountId> text.M.requestsPerMinute=200 rpc.creditsPer24Hours=50000000 --reason "launch"',
        'limits set <accountId> text.L.requestsPerMinute=5 --key <keyId> --reason "shared notebook"',
        'limits clear <accountId> --reason "launch is over"',
        'limits refusals <accountId> --limit 100 --json',
      ),
    )
  addShow(limits, context)
  addSet(limits, context)
  addClear(limits, context)
  addRefusals(limits, context)
}

function addShow(limits: Command, { connect, streams }: CommandContext): void {
  limits
    .command('show')
    .description('show the limits of an account, and the overrides of it and its keys')
    .argument('<accountId>')
    .option('--json', 'print JSON')
    .action(async (accountId: string, { json }: { json?: true }) => {
      const client = await connect()
      printLimits(await client.limits.get.query({ accountId }), { json, streams })
    })
}

function addSet(limits: Command, { connect, streams }: CommandContext): void {
  limits
    .command('set')
    .description(
      "override the limits of an account's tier, or add limits to a key; replaces all overrides that were set before",
    )
    .argument('<accountId>')
    .argument('<name=number...>', 'limits to set', collectAssignment)
    .option('--key <keyId>', 'only this key of the account')
    .requiredOption('--reason <text>', 'why')
    .option('--json', 'print JSON')
    .addHelpText('after', LIMIT_NAMES)
    .action(async (accountId: string, assignments: LimitAssignment[], { key, reason, json }: ChangeOptions) => {
      const client = await connect()
      const subject = key === undefined ? { accountId } : { accountId, keyId: key }
      // The server checks the names against its own schema.
      const values = toLimitNumbers(assignments) as LimitValues
      printLimits(await client.limits.set.mutate({ ...subject, limits: values, reason }), { json, streams })
    })
}

function addClear(limits: Command, { connect, streams }: CommandContext): void {
  limits
    .command('clear')
    .description('remove the overrides of an account, or the limits of a key')
    .argument('<accountId>')
    .option('--key <keyId>', 'only this key of the account')
    .requiredOption('--reason <text>', 'why')
    .option('--json', 'print JSON')
    .action(async (accountId: string, { key, reason, json }: ChangeOptions) => {
      const client = await connect()
      const subject = key === undefined ? { accountId } : { accountId, keyId: key }
      printLimits(await client.limits.clear.mutate({ ...subject, reason }), { json, streams })
    })
}

function addRefusals(limits: Command, { connect, streams }: CommandContext): void {
  limits
    .command('refusals')
    .description('list requests that exceeded a limit, newest first')
    .argument('[accountId]', 'only this account')
    .option('--limit <count>', 'maximum number of rows', parseLimit, ROWS_DEFAULT)
    .option('--json', 'print JSON')
    .action(async (accountId: string | undefined, { limit, json }: { limit: number; json?: true }) => {
      const client = await connect()
      const rows = await readPages(async (page) => {
        const { refusals: items, ...rest } = await client.limits.refusals.query({ accountId, ...page })
        return { items, ...rest }
      }, limit)
      if (json) {
        printJson(streams, rows)
        return
      }
      printTable(
        streams,
        rows.map(({ at, accountId: account, keyId, subject, rateLimitTier, rateLimitType }) => ({
          at,
          'account id': account,
          'key id': keyId ?? '-',
          subject,
          tier: rateLimitTier,
          type: rateLimitType,
        })),
      )
    })
}

function printLimits(
  limits: AccountLimits,
  { json, streams }: { json: true | undefined; streams: CommandContext['streams'] },
): void {
  if (json) {
    printJson(streams, limits)
    return
  }
  const set = limits.account === null ? {} : toDottedNames(limits.account)
  const rows = Object.entries(toDottedNames(limits.inForce)).map(([name, amount]) => [
    name,
    name in set ? `${amount}  (set for this account)` : amount,
  ])
  const ofKeys = limits.keys.flatMap(({ keyId, limits: keyWindows }) =>
    Object.entries(toDottedNames(keyWindows)).map(([name, amount]) => [`key ${keyId} ${name}`, amount]),
  )
  printFields(streams, { tier: limits.tier, ...Object.fromEntries([...rows, ...ofKeys]) })
}
