import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliFailure } from './failure.ts'
import { printJson } from './output.ts'

const NODE_MARKS = { matches: 'ok      ', unreachable: 'WARNING ', mismatch: 'REFUSED ' } as const
const CHECK_MARKS = { ok: 'ok      ', warning: 'WARNING ', failed: 'FAILED  ' } as const

/**
 * `doctor`: finds problems that an operator should fix; exit code 1 if a check failed or a node serves a chain other
 * than the configured one.
 */
export function addDoctorCommand(program: Command, { connect, streams }: CommandContext): void {
  program
    .command('doctor')
    .description('check the database, the clocks, abandoned holds and actions, and the chain of every blockchain node')
    .option('--public', 'also check the public nodes of networks that are not configured')
    .option('--json', 'print JSON')
    .action(async ({ json, public: publicNodes }: { json?: true; public?: true }) => {
      const client = await connect()
      const { ok, checks, nodes } = await client.platform.doctor.query({ publicNodes: publicNodes === true })
      if (json) printJson(streams, { ok, checks, nodes })
      else {
        for (const { status, id, detail } of checks) streams.stdout(`${CHECK_MARKS[status]}  ${id}  ${detail}\n`)
        if (nodes.length === 0) streams.stderr('No node is configured; --public checks the public nodes\n')
        for (const { status, nodeId, detail } of nodes) streams.stdout(`${NODE_MARKS[status]}  ${nodeId}  ${detail}\n`)
      }
      if (!checks.every(({ status }) => status !== 'failed')) throw new CliFailure('A check failed; see FAILED above')
      if (!ok) throw new CliFailure('A node serves another chain and is out of service; see REFUSED above')
    })
}
