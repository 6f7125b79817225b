import { CliFailure, EXIT } from './failure.ts'

/** What cannot be undone, or stops somebody's work, happens on `--yes` only; scripts and people say it alike. */
export function assertConfirmed(yes: true | undefined, consequence: string): void {
  if (yes) return
  throw new CliFailure(`Nothing was done: ${consequence}. Add --yes to confirm.`, EXIT.usage)
}
