import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliFailure } from './failure.ts'
import { printJson } from './output.ts'

/** `verify`: proves the invariants of the ledger; exit code 1 when one is broken. */
export function addVerifyCommand(program: Command, { connect, streams }: CommandContext): void {
  program
    .command('verify')
    .description('prove that the ledger, the balances and the usage add up')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }) => {
      const client = await connect()
      const { ok, checks } = await client.platform.verify.query()
      if (json) printJson(streams, { ok, checks })
      else {
        for (const check of checks) {
          streams.stdout(`${check.ok ? 'ok    ' : 'BROKEN'}  ${check.id}  ${check.description}\n`)
          for (const place of check.violations) streams.stdout(`            at ${place}\n`)
        }
      }
      if (!ok) throw new CliFailure('The books do not add up; see the checks above')
    })
}
