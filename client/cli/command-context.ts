import type { OperatorClient } from './operator-client.ts'
import type { Streams } from './output.ts'

/** What every command works with. */
export interface CommandContext {
  /** Fails with exit code 3 when no operator token is known. */
  connect: () => Promise<OperatorClient>
  streams: Streams
}
