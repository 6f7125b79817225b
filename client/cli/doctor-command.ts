import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliFailure } from './failure.ts'
import { printJson } from './output.ts'

const MARKS = { matches: 'ok      ', unreachable: 'WARNING ', mismatch: 'REFUSED ' } as const

/** `doctor`: asks the nodes which chain they serve; exit code 1 when one serves another than it is configured for. */
export function addDoctorCommand(program: Command, { connect, streams }: CommandContext): void {
  program
    .command('doctor')
    .description('check that every blockchain node serves the chain that it is configured for')
    .option('--public', 'also ask the public nodes of networks that are not configured')
    .option('--json', 'print JSON')
    .action(async ({ json, public: publicNodes }: { json?: true; public?: true }) => {
      const client = await connect()
      const { ok, nodes } = await client.platform.doctor.query({ publicNodes: publicNodes === true })
      if (json) printJson(streams, { ok, nodes })
      else {
        if (nodes.length === 0) streams.stderr('No node is configured; --public asks those that chains publish\n')
        for (const { status, nodeId, detail } of nodes) streams.stdout(`${MARKS[status]}  ${nodeId}  ${detail}\n`)
      }
      if (!ok) throw new CliFailure('A node serves another chain and is out of service; see REFUSED above')
    })
}
