import { cpus, loadavg } from 'node:os'
import type { RoundFigures } from './rounds.ts'
import { median } from './statistics.ts'

export type Cell = string | number | null

export interface Verdict {
  what: string
  value: number
  unit: string
  /** The goal: at most this, or at least this. */
  budget: { atMost: number } | { atLeast: number }
  passed: boolean
}

/** The result of one benchmark. */
export interface Report {
  benchmark: string
  title: string
  rows: Record<string, Cell>[]
  verdicts: Verdict[]
  notes: string[]
}

export function judge(
  what: string,
  value: number,
  { unit = '', ...budget }: Verdict['budget'] & { unit?: string },
): Verdict {
  const passed = 'atMost' in budget ? value <= budget.atMost : value >= budget.atLeast
  return { what, value, unit, budget, passed }
}

/** The median over the rounds of one contender's figure divided by another's in the same round. */
export function ratioOf(values: readonly number[], base: readonly number[]): number {
  return median(values.map((value, round) => value / (base[round] ?? Number.NaN)))
}

/** One row for each contender: medians over its rounds, and the lowest CPU time, which noise cannot reduce. */
export function roundRows(figures: ReadonlyMap<string, readonly RoundFigures[]>): Record<string, Cell>[] {
  return [...figures].map(([server, rounds]) => {
    const medianOf = (pick: (round: RoundFigures) => number) => median(rounds.map(pick))
    const backing = Object.keys(rounds[0]?.backingCpuMsPerRequest ?? {})
    return {
      server,
      'CPU ms/request': medianOf(({ cpuMsPerRequest }) => cpuMsPerRequest),
      'least CPU ms': Math.min(...rounds.map(({ cpuMsPerRequest }) => cpuMsPerRequest)),
      'requests/s': Math.round(medianOf(({ requestsPerSecond }) => requestsPerSecond)),
      'p50 ms': medianOf(({ p50Ms }) => p50Ms),
      'p99 ms': medianOf(({ p99Ms }) => p99Ms),
      'RSS MB': Math.round(rounds.at(-1)?.residentMegabytes ?? Number.NaN),
      ...Object.fromEntries(
        backing.map((name) => [`${name} CPU ms`, medianOf((round) => round.backingCpuMsPerRequest[name] ?? 0)]),
      ),
    }
  })
}

export function formatReport(report: Report): string {
  return [
    `\n${report.benchmark}: ${report.title}\n`,
    formatTable(report.rows),
    '',
    ...report.verdicts.map(formatVerdict),
    ...report.notes.map((note) => `  ${note}`),
  ].join('\n')
}

export function describeMachine(): Record<string, Cell> {
  const processors = cpus()
  return {
    node: process.version,
    processors: processors.length,
    model: processors[0]?.model ?? 'unknown',
    loadAverage: Number(loadavg()[0]?.toFixed(2)),
  }
}

function formatVerdict({ what, value, unit, budget, passed }: Verdict): string {
  const bound =
    'atMost' in budget ? `at most ${formatNumber(budget.atMost)}` : `at least ${formatNumber(budget.atLeast)}`
  return `  ${passed ? 'PASS' : 'OVER'}  ${what}: ${formatNumber(value)}${unit} (budget: ${bound}${unit})`
}

function formatTable(rows: readonly Record<string, Cell>[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = [columns, ...rows.map((row) => columns.map((column) => formatCell(row[column])))]
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)))
  return cells
    .map((line) =>
      line.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))),
    )
    .map((line) => `  ${line.join('  ')}`)
    .join('\n')
}

function formatCell(cell: Cell | undefined): string {
  if (cell === undefined || cell === null) return '-'
  return typeof cell === 'number' ? formatNumber(cell) : cell
}

function formatNumber(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en-US')
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3)
}
