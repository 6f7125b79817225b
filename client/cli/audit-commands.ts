import { type Command, Option } from 'commander'
import type { ActionOutcome } from '../../server/domain/audit/operator-action.ts'
import { parseInstant, parseLimit } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { examples } from './examples.ts'
import { printJson, printTable } from './output.ts'
import { readPages } from './read-pages.ts'

const OUTCOMES = ['started', 'done', 'refused', 'failed'] satisfies ActionOutcome[]
const ROWS_DEFAULT = 20

interface ListOptions {
  actor?: string
  action?: string
  account?: string
  key?: string
  model?: string
  outcome?: ActionOutcome
  from?: string
  to?: string
  limit: number
  json?: true
}

/** `audit …`: actions of operators. */
export function addAuditCommands(program: Command, { connect, streams }: CommandContext): void {
  const audit = program
    .command('audit')
    .description('actions of operators and their outcomes')
    .addHelpText(
      'after',
      examples('audit list --account <accountId>', 'audit list --action catalogue. --from 2027-01-01T00:00:00Z --json'),
    )
  audit
    .command('list')
    .description('list actions of operators, newest first')
    .option('--actor <name>', 'only this operator')
    .option('--action <path>', 'only this action, such as accounts.grant, or this prefix, such as accounts.')
    .option('--account <accountId>', 'only this account')
    .option('--key <keyId>', 'only this key')
    .option('--model <modelId>', 'only this model')
    .addOption(
      new Option('--outcome <outcome>', 'outcome; started means that the action never ended').choices(OUTCOMES),
    )
    .option('--from <instant>', 'at or after', parseInstant)
    .option('--to <instant>', 'before', parseInstant)
    .option('--limit <count>', 'maximum number of rows', parseLimit, ROWS_DEFAULT)
    .option('--json', 'print JSON')
    .action(async ({ limit, json, account: accountId, key: keyId, model: modelId, ...filter }: ListOptions) => {
      const client = await connect()
      const actions = await readPages(async (page) => {
        const input = { ...filter, accountId, keyId, modelId, ...page }
        const { actions: items, ...rest } = await client.audit.list.query(input)
        return { items, ...rest }
      }, limit)
      if (json) printJson(streams, actions)
      else
        printTable(
          streams,
          actions.map((action) => ({
            at: action.startedAt,
            actor: action.actor,
            action: action.action,
            subject: action.keyId ?? action.accountId ?? action.modelId ?? '-',
            outcome: action.errorCode === null ? action.outcome : `${action.outcome} (${action.errorCode})`,
            reason: action.reason ?? '-',
          })),
        )
    })
}
