import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliFailure } from './failure.ts'
import type { OperatorClient } from './operator-client.ts'
import { printFields, printJson, printTable } from './output.ts'

type Health = Awaited<ReturnType<OperatorClient['platform']['health']['query']>>
type Upstream = Health['providers'][number] | Health['nodes'][number]

/** `status`: the health of the server and its upstreams; exit code 1 if something that requests need is unavailable. */
export function addStatusCommand(program: Command, { connect, streams }: CommandContext): void {
  program
    .command('status')
    .description('show the health of the server, database, providers and nodes')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }) => {
      const client = await connect()
      const health = await client.platform.health.query()
      if (json) printJson(streams, health)
      else printHealth(health, streams)
      if (!health.ok) throw new CliFailure('A required part is unavailable; see above')
    })
}

function printHealth(health: Health, streams: CommandContext['streams']): void {
  const { database, sharedStore, processes, providers, nodes } = health
  printFields(streams, {
    version: health.version,
    database: database.ok ? `ok, PostgreSQL ${database.version}, ${database.latencyMs} ms` : 'UNAVAILABLE',
    'shared store':
      sharedStore === null ? 'none configured' : sharedStore.ok ? 'ok' : 'UNAVAILABLE, each process limits on its own',
    processes: String(processes.length),
  })
  // There are many networks, and one without traffic has nothing to report.
  const asked = nodes.filter(({ recentCalls, inService }) => recentCalls > 0 || !inService)
  const rows = [
    ...providers.map((provider) => toRow(provider.providerId, provider.circuit, provider)),
    ...asked.map((node) => toRow(node.nodeId, node.inService ? node.circuit : 'OUT OF SERVICE', node)),
  ]
  if (rows.length > 0) printTable(streams, rows)
}

function toRow(name: string, state: string, upstream: Upstream): Record<string, string> {
  const { recentCalls, recentFailures, latencyMsP50, latencyMsP95, lastFailure, lastFailureAt } = upstream
  return {
    upstream: name,
    circuit: state,
    calls: String(recentCalls),
    failed: String(recentFailures),
    'p50 ms': latencyMsP50 === null ? '-' : String(latencyMsP50),
    'p95 ms': latencyMsP95 === null ? '-' : String(latencyMsP95),
    'last failure': lastFailureAt === null ? '-' : `${lastFailureAt} ${lastFailure}`,
  }
}
