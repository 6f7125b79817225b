/** Fields of a log line. Must not contain secrets; the logger redacts the usual names as a second line of defence. */
export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}
