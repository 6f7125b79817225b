import { CliFailure, EXIT } from './failure.ts'

/** Actions that cannot be undone, or that interrupt a customer, require `--yes`, in scripts and terminals alike. */
export function assertConfirmed(yes: true | undefined, consequence: string): void {
  if (yes) return
  throw new CliFailure(`Nothing was done: ${consequence}. Add --yes to confirm.`, EXIT.usage)
}
