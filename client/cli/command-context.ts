import type { OperatorClient } from './operator-client.ts'
import type { Streams } from './output.ts'

export interface CommandContext {
  /** Fails with exit code 3 if no operator token is known. */
  connect: () => Promise<OperatorClient>
  streams: Streams
}
