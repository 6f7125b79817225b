import type { Command } from 'commander'
import { parseLimit } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { assertConfirmed } from './confirmation.ts'
import { examples } from './examples.ts'
import { addModelChangeCommands } from './model-change-commands.ts'
import type { OperatorClient } from './operator-client.ts'
import { printFields, printJson, printTable } from './output.ts'
import { printChange } from './print-change.ts'
import { readPages } from './read-pages.ts'

const ROWS_DEFAULT = 20

type ModelRecord = Awaited<ReturnType<OperatorClient['catalogue']['get']['query']>>

/** `model …`: the catalogue while the server runs. */
export function addModelCommands(program: Command, context: CommandContext): void {
  const model = program
    .command('model')
    .description('models: prices, availability, tier and deprecation, with their history')
    .addHelpText(
      'after',
      examples(
        'model list',
        'model set-price llama-3.3-70b --input 0.2 --output 0.8 --effective-at 2027-01-01T00:00:00Z --reason "new year"',
        'model disable llama-3.3-70b --reason "provider is down" --yes',
        'model history llama-3.3-70b',
        'model withdraw <changeId> --reason "postponed" --yes',
      ),
    )
  addList(model, context)
  addShow(model, context)
  addModelChangeCommands(model, context)
  addHistory(model, context)
  addWithdraw(model, context)
}

function addList(model: Command, { connect, streams }: CommandContext): void {
  model
    .command('list')
    .description('list the models with their current settings')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }) => {
      const client = await connect()
      const models = await client.catalogue.list.query()
      if (json) printJson(streams, models)
      else
        printTable(
          streams,
          models.map((row) => ({
            'model id': row.modelId,
            type: row.type,
            tier: row.tier,
            state: row.offline ? 'offline' : 'online',
            input: usd(row.pricing.input),
            output: usd(row.pricing.output),
            'price from': sourceOf(row, 'pricing'),
          })),
        )
    })
}

function addShow(model: Command, { connect, streams }: CommandContext): void {
  model
    .command('show')
    .description('show one model and the source of each setting')
    .argument('<modelId>')
    .option('--json', 'print JSON')
    .action(async (modelId: string, { json }: { json?: true }) => {
      const client = await connect()
      const found = await client.catalogue.get.query({ modelId })
      if (json) {
        printJson(streams, found)
        return
      }
      const deprecation = found.deprecation === null ? 'none' : JSON.stringify(found.deprecation)
      printFields(streams, {
        'model id': found.modelId,
        name: found.name,
        type: found.type,
        tier: `${found.tier} (${sourceOf(found, 'tier')})`,
        state: `${found.offline ? 'offline' : 'online'} (${sourceOf(found, 'offline')})`,
        pricing: `${JSON.stringify(found.pricing)} (${sourceOf(found, 'pricing')})`,
        deprecation: `${deprecation} (${sourceOf(found, 'deprecation')})`,
      })
    })
}

function addHistory(model: Command, { connect, streams }: CommandContext): void {
  model
    .command('history')
    .description('list past, present and future changes, newest first')
    .argument('[modelId]', 'default: all models')
    .option('--limit <count>', 'maximum number of rows', parseLimit, ROWS_DEFAULT)
    .option('--json', 'print JSON')
    .action(async (modelId: string | undefined, { limit, json }: { limit: number; json?: true }) => {
      const client = await connect()
      const changes = await readPages(async (page) => {
        const { changes: items, ...rest } = await client.catalogue.history.query({ modelId, ...page })
        return { items, ...rest }
      }, limit)
      if (json) printJson(streams, changes)
      else
        printTable(
          streams,
          changes.map((change) => ({
            'change id': change.changeId,
            'model id': change.modelId,
            status: change.status,
            effective: change.effectiveAt,
            change: JSON.stringify(change.patch),
            by: change.actor,
            reason: change.reason,
          })),
        )
    })
}

function addWithdraw(model: Command, { connect, streams }: CommandContext): void {
  model
    .command('withdraw')
    .description('withdraw a change that has not taken effect yet')
    .argument('<changeId>')
    .requiredOption('--reason <text>', 'reason, for the history')
    .option('--yes', 'skip the confirmation')
    .option('--json', 'print JSON')
    .action(async (changeId: string, { reason, yes, json }: { reason: string; yes?: true; json?: true }) => {
      assertConfirmed(yes, `this withdraws the change ${changeId}`)
      const client = await connect()
      printChange(await client.catalogue.withdraw.mutate({ changeId, reason }), { json, streams })
    })
}

function usd(price: { usd: number } | undefined): string {
  return price === undefined ? '-' : String(price.usd)
}

function sourceOf({ sources }: ModelRecord, field: ModelRecord['sources'][number]['field']): string {
  const since = sources.find((source) => source.field === field)?.since ?? null
  return since === null ? 'configuration' : `changed ${since}`
}
