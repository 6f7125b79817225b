import { TRPCClientError } from '@trpc/client'
import { CommanderError } from 'commander'

export const EXIT = { ok: 0, failure: 1, usage: 2, auth: 3, payment: 4, rateLimited: 5 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends a command with a message on stderr. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure'
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = EXIT.failure) {
    super(message)
    this.exitCode = exitCode
  }
}

export interface Ending {
  exitCode: ExitCode
  /** Null: the message was already written. */
  message: string | null
}

/** Message and exit code for `error`. */
export function toEnding(error: unknown, serverUrl: string): Ending {
  if (error instanceof CliFailure) return { exitCode: error.exitCode, message: error.message }
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage, message: null }
  if (error instanceof TRPCClientError) return endingOfCall(error, serverUrl)
  return { exitCode: EXIT.failure, message: error instanceof Error ? error.message : String(error) }
}

function endingOfCall(error: TRPCClientError<never>, serverUrl: string): Ending {
  const data: unknown = error.data
  const code = typeof data === 'object' && data !== null && 'code' in data ? data.code : undefined
  if (code === 'UNAUTHORIZED') {
    return {
      exitCode: EXIT.auth,
      message: `${serverUrl} rejected the operator token: set SLUICE_OPERATOR_TOKEN, or SLUICE_DATA_DIR to the server's data folder`,
    }
  }
  if (code === 'PAYMENT_REQUIRED') return { exitCode: EXIT.payment, message: error.message }
  if (code === 'TOO_MANY_REQUESTS') return { exitCode: EXIT.rateLimited, message: error.message }
  if (code !== undefined) return { exitCode: EXIT.failure, message: error.message }
  return {
    exitCode: EXIT.failure,
    message: `No Sluice server responds at ${serverUrl}: start it, or set SLUICE_URL (${error.message})`,
  }
}
