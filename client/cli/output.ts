import { toPrintable, toPrintableLines } from './printable.ts'

/** Where a command writes: data to `stdout`, messages to `stderr`. */
export interface Streams {
  stdout: (text: string) => void
  stderr: (text: string) => void
}

/** Escapes all output, because texts come from callers, upstreams and servers. */
export function printableStreams({ stdout, stderr }: Streams): Streams {
  return {
    stdout: (text) => stdout(toPrintableLines(text)),
    stderr: (text) => stderr(toPrintableLines(text)),
  }
}

export type Row = Record<string, string>

export function printJson({ stdout }: Streams, value: unknown): void {
  stdout(`${JSON.stringify(value, null, 2)}\n`)
}

/** Columns in the order of the first row's fields, as wide as their widest value. */
export function printTable({ stdout, stderr }: Streams, rows: readonly Row[]): void {
  const [first] = rows
  if (first === undefined) {
    stderr('(none)\n')
    return
  }
  const columns = Object.keys(first)
  const lines = [
    columns.map((column) => column.toUpperCase()),
    ...rows.map((row) => columns.map((column) => toPrintable(row[column] ?? ''))),
  ]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => (line[index] ?? '').length)))
  for (const line of lines) {
    stdout(
      `${line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
}

/** One `name  value` line per field. */
export function printFields({ stdout }: Streams, fields: Row): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  for (const [name, value] of Object.entries(fields)) stdout(`${name.padEnd(width)}  ${toPrintable(value)}\n`)
}
