import { type Command, Option } from 'commander'
import type { PaymentState } from '../../server/domain/payments/payment.ts'
import { parseLimit } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { examples } from './examples.ts'
import { CliFailure } from './failure.ts'
import { printFields, printJson, printTable } from './output.ts'
import { readPages } from './read-pages.ts'

const ROWS_DEFAULT = 20
type StateFilter = PaymentState | 'unresolved' | 'disappeared'
const STATES = [
  'unresolved',
  'disappeared',
  'received',
  'verified',
  'settling',
  'settled',
  'credited',
  'refused',
  'failed',
  'dead',
] satisfies StateFilter[]

/** `x402 …`: payments by wallet. */
export function addPaymentCommands(program: Command, context: CommandContext): void {
  const x402 = program
    .command('x402')
    .alias('payments')
    .description('wallet payments in USDC')
    .addHelpText('after', examples('x402 status', 'x402 payments --state unresolved', 'x402 reconcile --json'))
  addStatus(x402, context)
  addReconcile(x402, context)
  addList(x402, context)
  addCorrect(x402, context)
}

function addStatus(x402: Command, { connect, streams }: CommandContext): void {
  x402
    .command('status')
    .description('show the health of payments on each chain, and the number of payments in each state')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }) => {
      const client = await connect()
      const status = await client.payments.status.query()
      if (json) printJson(streams, status)
      else {
        if (status.networks.length === 0) streams.stderr('No chain is configured: see x402 in the configuration file\n')
        for (const { network, problems } of status.networks) {
          const lines = problems.length === 0 ? ['ok'] : problems.map((problem) => `FAILED: ${problem}`)
          for (const line of lines) streams.stdout(`${network}  ${line}\n`)
        }
        const rows = status.counts.map(({ network, state, payments, amountUsd }) => ({
          network,
          state,
          payments: String(payments),
          usd: amountUsd,
        }))
        if (rows.length > 0) printTable(streams, rows)
        const since = status.oldestUnresolvedAt === null ? '' : `, the oldest since ${status.oldestUnresolvedAt}`
        printFields(streams, { unresolved: `${status.unresolved}${since}` })
      }
      if (status.networks.some(({ problems }) => problems.length > 0)) {
        throw new CliFailure('Payments do not work on a chain; see FAILED above')
      }
    })
}

function addReconcile(x402: Command, { connect, streams }: CommandContext): void {
  x402
    .command('reconcile')
    .description('check all unfinished payments now')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }) => {
      const client = await connect()
      const { taken, unresolved } = await client.payments.reconcile.mutate()
      if (json) printJson(streams, { taken, unresolved })
      else printFields(streams, { 'looked at': String(taken), unresolved: String(unresolved) })
    })
}

function addList(x402: Command, { connect, streams }: CommandContext): void {
  x402
    .command('payments')
    .description('list payments, newest first')
    .addOption(
      new Option(
        '--state <state>',
        'only this state; unresolved: outcome unknown; disappeared: credited, but the transfer disappeared from the chain',
      ).choices(STATES),
    )
    .option('--limit <count>', 'maximum number of rows', parseLimit, ROWS_DEFAULT)
    .option('--json', 'print JSON')
    .action(async ({ state, limit, json }: { state?: StateFilter; limit: number; json?: true }) => {
      const client = await connect()
      const payments = await readPages(async (page) => {
        const { payments: items, ...rest } = await client.payments.list.query({ state, ...page })
        return { items, ...rest }
      }, limit)
      if (json) printJson(streams, payments)
      else {
        const rows = payments.map((payment) => ({
          id: payment.paymentId,
          at: payment.receivedAt,
          state: payment.state,
          usd: payment.amountUsd,
          wallet: payment.wallet,
          network: payment.network,
          transaction: payment.transaction ?? '-',
          reason: payment.reason ?? '-',
        }))
        printTable(streams, rows)
      }
    })
}

function addCorrect(x402: Command, { connect, streams }: CommandContext): void {
  x402
    .command('correct')
    .argument('<paymentId>')
    .description('take back the free part of the credit of a payment whose transfer disappeared from the chain')
    .requiredOption('--reason <text>', 'reason, for the ledger and the audit log')
    .option('--json', 'print JSON')
    .action(async (paymentId: string, { reason, json }: { reason: string; json?: true }) => {
      const client = await connect()
      const correction = await client.payments.correct.mutate({ paymentId, reason })
      if (json) printJson(streams, correction)
      else {
        printFields(streams, {
          account: correction.accountId ?? '-',
          'credited USD': correction.creditedUsd,
          'taken back USD': correction.correctedUsd,
          'spent already USD': correction.outstandingUsd,
        })
      }
    })
}
