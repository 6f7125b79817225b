/** Facts of a log line. Secrets do not belong here; the logger redacts the usual names as a second line of defence. */
export type LogFields = Readonly<Record<string, unknown>>

/** What the domain may say to an operator. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}
