import type { Log, LogFields } from '../../server/domain/log.ts'

export interface RecordingLog extends Log {
  readonly lines: { level: keyof Log; message: string; fields: LogFields }[]
}

/** Keeps the lines for a test to look at. */
export function createRecordingLog(): RecordingLog {
  const lines: RecordingLog['lines'] = []
  const recorder =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push({ level, message, fields })
    }
  return { lines, info: recorder('info'), warn: recorder('warn'), error: recorder('error') }
}
