import { type Command, InvalidArgumentError } from 'commander'
import type { CommandContext } from './command-context.ts'
import type { OperatorClient } from './operator-client.ts'
import { printFields, printJson, printTable, type Row } from './output.ts'

const REFUSALS_DEFAULT = 50
const PAGE_SIZE_MAX = 100
/** A name such as `text.M.requestsPerMinute`, and a whole number. */
const ASSIGNMENT = /^([A-Za-z0-9]+(?:\.[A-Za-z0-9]+){1,2})=(\d{1,15})$/

const SET_EXAMPLES = `
Names: text.<XS|S|M|L>.requestsPerMinute, text.<…>.tokensPerMinute, <image|audio|embedding|videoQueue|
videoRetrieve>.requestsPerMinute, rpc.requestsPerMinute, rpc.creditsPer24Hours.
Example: sluice limits set 018f… text.M.requestsPerMinute=200 rpc.creditsPer24Hours=50000000 --reason "launch"`

type AccountLimits = Awaited<ReturnType<OperatorClient['limits']['get']['query']>>
type LimitValues = Parameters<OperatorClient['limits']['set']['mutate']>[0]['limits']
type Numbers = { [name: string]: number | Numbers }

interface ChangeOptions {
  key?: string
  reason: string
  json?: true
}

/** `limits …`: limits of single accounts and keys, and the requests that were refused. */
export function addLimitCommands(program: Command, context: CommandContext): void {
  const limits = program.command('limits').description('limits of single accounts and keys, and refused requests')
  addShow(limits, context)
  addSet(limits, context)
  addClear(limits, context)
  addRefusals(limits, context)
}

function addShow(limits: Command, { connect, streams }: CommandContext): void {
  limits
    .command('show')
    .description('show the limits of an account, and what was set for it and its keys')
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
    .description('set limits of an account in place of its tier, or of a key beside its account; replaces what was set')
    .argument('<accountId>')
    .argument('<name=number...>', 'limits to set', collectAssignment)
    .option('--key <keyId>', 'one key of the account')
    .requiredOption('--reason <text>', 'why')
    .option('--json', 'print JSON')
    .addHelpText('after', SET_EXAMPLES)
    .action(async (accountId: string, assignments: Assignment[], { key, reason, json }: ChangeOptions) => {
      const client = await connect()
      const subject = key === undefined ? { accountId } : { accountId, keyId: key }
      // The server checks the names against its own schema.
      const values = toLimits(assignments) as LimitValues
      printLimits(await client.limits.set.mutate({ ...subject, limits: values, reason }), { json, streams })
    })
}

function addClear(limits: Command, { connect, streams }: CommandContext): void {
  limits
    .command('clear')
    .description("go back to the limits of the account's tier, or of a key to those of its account")
    .argument('<accountId>')
    .option('--key <keyId>', 'one key of the account')
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
    .argument('[accountId]', 'of this account alone')
    .option('--limit <n>', 'how many at most', parseCount, REFUSALS_DEFAULT)
    .option('--json', 'print JSON')
    .action(async (accountId: string | undefined, { limit, json }: { limit: number; json?: true }) => {
      const rows = await listRefusals(await connect(), { accountId, limit })
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

type RefusalsPage = Awaited<ReturnType<OperatorClient['limits']['refusals']['query']>>

async function listRefusals(
  client: OperatorClient,
  { accountId, limit }: { accountId: string | undefined; limit: number },
): Promise<RefusalsPage['refusals']> {
  const rows: RefusalsPage['refusals'] = []
  let after: string | null = null
  do {
    const first = Math.min(limit - rows.length, PAGE_SIZE_MAX)
    const page: RefusalsPage = await client.limits.refusals.query({ accountId, first, after })
    rows.push(...page.refusals)
    after = page.hasNextPage ? page.endCursor : null
  } while (after !== null && rows.length < limit)
  return rows
}

interface Assignment {
  path: string[]
  amount: number
}

function collectAssignment(text: string, before: Assignment[] | undefined): Assignment[] {
  const [, name, amount] = ASSIGNMENT.exec(text) ?? []
  if (name === undefined || amount === undefined) {
    throw new InvalidArgumentError('It must have the form name=number, such as text.M.requestsPerMinute=200.')
  }
  return [...(before ?? []), { path: name.split('.'), amount: Number(amount) }]
}

function toLimits(assignments: readonly Assignment[]): Numbers {
  const limits: Numbers = {}
  for (const { path, amount } of assignments) {
    let level = limits
    for (const name of path.slice(0, -1)) {
      const next = level[name]
      const inner = typeof next === 'object' ? next : {}
      level[name] = inner
      level = inner
    }
    level[path.at(-1) ?? ''] = amount
  }
  return limits
}

function parseCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count
  throw new InvalidArgumentError('It must be a whole number from 1 to 10000.')
}

function printLimits(
  limits: AccountLimits,
  { json, streams }: { json: true | undefined; streams: CommandContext['streams'] },
): void {
  if (json) {
    printJson(streams, limits)
    return
  }
  const set = limits.account === null ? {} : flatten(limits.account)
  const rows = Object.entries(flatten(limits.inForce)).map(([name, amount]) => [
    name,
    name in set ? `${amount}  (set for this account)` : amount,
  ])
  const ofKeys = limits.keys.flatMap(({ keyId, limits: ofKey }) =>
    Object.entries(flatten(ofKey)).map(([name, amount]) => [`key ${keyId} ${name}`, amount]),
  )
  printFields(streams, { tier: limits.tier, ...Object.fromEntries([...rows, ...ofKeys]) })
}

function flatten(numbers: object, prefix = ''): Row {
  return Object.fromEntries(
    Object.entries(numbers).flatMap(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(flatten(value, `${prefix}${name}.`))
        : [[`${prefix}${name}`, String(value)]],
    ),
  )
}
