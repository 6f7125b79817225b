import { Argument, type Command } from 'commander'
import type { ModelTier } from '../../server/domain/catalogue/model-definition.ts'
import { parseAmount, parseInstant } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { assertConfirmed } from './confirmation.ts'
import { CliFailure, EXIT } from './failure.ts'
import { printJson } from './output.ts'
import { printChange } from './print-change.ts'
import { printPrices } from './print-prices.ts'

const TIERS = ['XS', 'S', 'M', 'L'] satisfies ModelTier[]

interface ChangeOptions {
  reason: string
  effectiveAt?: string
  yes?: true
  json?: true
}

interface PriceOptions extends ChangeOptions {
  input?: string
  output?: string
  cacheInput?: string
  cacheWrite?: string
  generation?: string
  free?: true
  fromConfig?: true
}

interface DeprecationOptions extends ChangeOptions {
  replacement?: string
  autoRemap?: true
  message?: string
}

/** The `model …` commands that change the catalogue, at once or from a given time. */
export function addModelChangeCommands(model: Command, context: CommandContext): void {
  addSetPrice(model, context)
  addAvailability(model, context)
  addSetTier(model, context)
  addDeprecate(model, context)
}

/** The options of every change. */
function changeCommand(model: Command, name: string, description: string): Command {
  return model
    .command(name)
    .description(description)
    .argument('<modelId>')
    .requiredOption('--reason <text>', 'reason, for the history')
    .option(
      '--effective-at <instant>',
      'time at which the change takes effect, such as 2027-01-01T00:00:00Z; default: at once',
      parseInstant,
    )
    .option('--json', 'print JSON')
}

function addSetPrice(model: Command, { connect, streams }: CommandContext): void {
  changeCommand(model, 'set-price', 'change prices of a model; a price you omit is kept')
    .option('--input <usd>', 'USD per million prompt tokens', parseAmount)
    .option('--output <usd>', 'USD per million completion tokens', parseAmount)
    .option('--cache-input <usd>', 'USD per million prompt tokens read from the cache', parseAmount)
    .option('--cache-write <usd>', 'USD per million prompt tokens written to the cache', parseAmount)
    .option('--generation <usd>', 'USD per generated image', parseAmount)
    .option('--free', 'allow free output; alone, it removes all prices')
    .option('--from-config', 'return to the prices of the configuration file')
    .action(async (modelId: string, { reason, effectiveAt, json, fromConfig, free, ...prices }: PriceOptions) => {
      const given = toPricing(prices)
      const isNamed = Object.keys(given).length > 0
      if (isNamed === (fromConfig === true) && free !== true) {
        throw new CliFailure('Give prices, such as --input 0.2 --output 0.8, or --from-config, or --free', EXIT.usage)
      }
      const client = await connect()
      const { pricing: before } = await client.catalogue.get.query({ modelId })
      const pricing = fromConfig ? null : given
      const change = { modelId, reason, effectiveAt, pricing, free: free === true }
      const made = await client.catalogue.setPrice.mutate(change)
      if (json) return printJson(streams, { ...made, pricingBefore: before })
      printChange(made, { json, streams })
      printPrices(streams, { before, after: made.patch.pricing ?? null })
    })
}

function addAvailability(model: Command, { connect, streams }: CommandContext): void {
  const set = async (
    modelId: string,
    offline: boolean,
    { reason, effectiveAt, json }: ChangeOptions,
  ): Promise<void> => {
    const client = await connect()
    const change = await client.catalogue.setAvailability.mutate({ modelId, reason, effectiveAt, offline })
    printChange(change, { json, streams })
  }
  changeCommand(model, 'disable', 'take a model offline')
    .option('--yes', 'skip the confirmation')
    .action(async (modelId: string, options: ChangeOptions) => {
      assertConfirmed(options.yes, `this rejects every request for the model ${modelId}`)
      await set(modelId, true, options)
    })
  changeCommand(model, 'enable', 'put a model back online').action((modelId: string, options: ChangeOptions) =>
    set(modelId, false, options),
  )
}

function addSetTier(model: Command, { connect, streams }: CommandContext): void {
  changeCommand(model, 'set-tier', 'change the rate-limit tier of a model')
    .addArgument(new Argument('<tier>').choices(TIERS))
    .action(async (modelId: string, tier: ModelTier, { reason, effectiveAt, json }: ChangeOptions) => {
      const client = await connect()
      printChange(await client.catalogue.setTier.mutate({ modelId, reason, effectiveAt, tier }), { json, streams })
    })
}

function addDeprecate(model: Command, { connect, streams }: CommandContext): void {
  changeCommand(model, 'deprecate', 'announce that a model will be removed')
    .argument('<date>', 'date of the deprecation, such as 2027-06-30T00:00:00Z', parseInstant)
    .option('--replacement <modelId>', 'the model to use instead')
    .option('--auto-remap', 'serve the replacement under the old name from that date')
    .option('--message <text>', 'message for callers')
    .action(async (modelId: string, date: string, options: DeprecationOptions) => {
      const { reason, effectiveAt, json, replacement, autoRemap, message } = options
      const deprecation = {
        date,
        autoRemap: autoRemap === true,
        ...(replacement === undefined ? {} : { replacementModelId: replacement }),
        ...(message === undefined ? {} : { message }),
      }
      const client = await connect()
      const change = await client.catalogue.setDeprecation.mutate({ modelId, reason, effectiveAt, deprecation })
      printChange(change, { json, streams })
    })
}

/** Uses the names of the configuration file; the server checks the numbers as it does those of the file. */
function toPricing({ input, output, cacheInput, cacheWrite, generation }: Omit<PriceOptions, keyof ChangeOptions>) {
  const named = { input, output, cache_input: cacheInput, cache_write: cacheWrite, generation }
  const given = Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(given.map(([name, usd]) => [name, { usd: Number(usd) }]))
}
