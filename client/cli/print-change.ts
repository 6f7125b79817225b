import type { CommandContext } from './command-context.ts'
import type { OperatorClient } from './operator-client.ts'
import { printFields, printJson } from './output.ts'

type ChangeRecord = Awaited<ReturnType<OperatorClient['catalogue']['withdraw']['mutate']>>

export function printChange(
  change: ChangeRecord,
  { json, streams }: { json: true | undefined; streams: CommandContext['streams'] },
): void {
  if (json) {
    printJson(streams, change)
    return
  }
  printFields(streams, {
    'change id': change.changeId,
    'model id': change.modelId,
    change: JSON.stringify(change.patch),
    effective: change.effectiveAt,
    status: change.status,
    reason: change.reason,
  })
}
