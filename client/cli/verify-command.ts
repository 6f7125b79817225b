import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliFailure } from './failure.ts'
import { printJson } from './output.ts'

type Client = Awaited<ReturnType<CommandContext['connect']>>
type Verification = Awaited<ReturnType<Client['platform']['verify']['query']>>

const VIOLATIONS_MAX = 10
const PROGRESS_EVERY_MS = 10_000

/** `verify`: proves the invariants of the ledger; exit code 1 if one is violated. */
export function addVerifyCommand(program: Command, { connect, streams }: CommandContext): void {
  program
    .command('verify')
    .description('check that the ledger, the balances and the usage add up')
    .option('--resume <cursor>', 'continue an interrupted run from this cursor')
    .option('--json', 'print JSON')
    .action(async ({ json, resume }: { json?: true; resume?: string }) => {
      const { ok, checks } = await verify(await connect(), resume ?? null, streams.stderr)
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

/** In parts, so no request is long and an interrupted run can continue. */
async function verify(client: Client, resume: string | null, stderr: (text: string) => void): Promise<Verification> {
  let cursor = resume
  let whole: Verification | undefined
  let reportedMs = performance.now()
  do {
    const part = await client.platform.verifyPart.query({ cursor }).catch((error: unknown) => {
      if (cursor !== null) stderr(resumeLine('verify stopped', cursor))
      throw error
    })
    whole = whole === undefined ? part.verification : merge(whole, part.verification)
    cursor = part.cursor
    if (cursor !== null && performance.now() - reportedMs > PROGRESS_EVERY_MS) {
      reportedMs = performance.now()
      stderr(resumeLine(`verify is checking the ${part.scan}`, cursor))
    }
  } while (cursor !== null)
  return whole
}

function resumeLine(state: string, cursor: string): string {
  return `${state}; an interrupted run continues with: sluice verify --resume ${cursor}\n`
}

function merge(before: Verification, after: Verification): Verification {
  const checks = after.checks.map((check, index) => {
    const violations = [...(before.checks[index]?.violations ?? []), ...check.violations]
    const ok = check.ok && before.checks[index]?.ok !== false
    return { ...check, ok, violations: [...new Set(violations)].slice(0, VIOLATIONS_MAX) }
  })
  return { ok: checks.every(({ ok }) => ok), checks }
}
