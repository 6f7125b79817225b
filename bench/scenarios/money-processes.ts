import { createPostgresDatabase } from '../../server/db/database.ts'
import { migrateToLatest } from '../../server/db/migrate.ts'
import type { KeyCaller } from '../../server/domain/caller.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { createMoneyHarness } from '../../test/support/money-harness.ts'
import { type MoneyFleet, startMoneyFleet } from '../harness/money-fleet.ts'
import { cpuMsBetween, cpuMsByPid, findProcesses } from '../harness/process-figures.ts'
import { judge, type Report, ratioOf } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { median, quantileOf } from '../harness/statistics.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

const PROCESSES = 4
const ACCOUNTS = 200
/** All processes together. */
const IN_FLIGHT = 64
const SECONDS = 2
const BALANCE_NANO_USD = 1_000_000_000_000_000n

interface Case {
  name: string
  processes: number
  callersOf: (callers: readonly KeyCaller[], index: number) => readonly KeyCaller[]
}

const OWN = ACCOUNTS / PROCESSES
const CASES: readonly Case[] = [
  { name: 'one, all accounts', processes: 1, callersOf: (callers) => callers },
  { name: 'four, all accounts', processes: PROCESSES, callersOf: (callers) => callers },
  {
    name: 'four, accounts of their own',
    processes: PROCESSES,
    callersOf: (callers, index) => callers.slice(index * OWN, (index + 1) * OWN),
  },
  { name: 'one, hot account', processes: 1, callersOf: (callers) => callers.slice(0, 1) },
  { name: 'four, hot account', processes: PROCESSES, callersOf: (callers) => callers.slice(0, 1) },
]

/** The same load on the money path, from one process and from four in turn. */
export async function runMoneyProcesses({
  signal,
  rounds,
}: Pick<ScenarioOptions, 'signal' | 'rounds'>): Promise<Report> {
  await using database = await createTemporaryDatabase()
  const { db, close } = createPostgresDatabase(database.url)
  try {
    await migrateToLatest(db)
    const harness = createMoneyHarness(db, systemClock)
    const callers: KeyCaller[] = []
    for (let index = 0; index < ACCOUNTS; index++) callers.push(await harness.addCaller({ usdNano: BALANCE_NANO_USD }))
    const figures = new Map<string, RoundFigures[]>(CASES.map(({ name }) => [name, []]))
    using fleet = await startMoneyFleet(PROCESSES, { url: database.url, signal })
    const findBackends = () => findProcesses(database.name)
    for (let round = 0; round <= rounds; round++) {
      for (const one of CASES) {
        signal.throwIfAborted()
        const figure = await measure(fleet, { ...one, callers, findBackends })
        // The first round is a warm-up.
        if (round > 0) figures.get(one.name)?.push(figure)
      }
    }
    const { checks } = await harness.ledger.verify()
    return reportOn(figures, { settings: database.settings, faults: checks.filter(({ ok }) => !ok).length })
  } finally {
    await close()
  }
}

interface RoundFigures {
  pairsPerSecond: number
  p50Ms: number
  p99Ms: number
  databaseCpuUs: number
}

interface MeasureOptions extends Case {
  callers: readonly KeyCaller[]
  findBackends: () => number[]
}

async function measure(fleet: MoneyFleet, { callers, processes, callersOf, findBackends }: MeasureOptions) {
  const before = cpuMsByPid(findBackends())
  const startMs = performance.now()
  const shares = Array.from({ length: processes }, (_, index) => ({
    callers: callersOf(callers, index),
    inFlight: IN_FLIGHT / processes,
    seconds: SECONDS,
  }))
  const latenciesMs = (await fleet.run(shares)).toSorted((a, b) => a - b)
  const seconds = (performance.now() - startMs) / 1_000
  return {
    pairsPerSecond: latenciesMs.length / seconds,
    p50Ms: quantileOf(latenciesMs, 0.5),
    p99Ms: quantileOf(latenciesMs, 0.99),
    databaseCpuUs: (cpuMsBetween(before, cpuMsByPid(findBackends())) * 1_000) / latenciesMs.length,
  }
}

function reportOn(
  figures: ReadonlyMap<string, readonly RoundFigures[]>,
  { settings, faults }: { settings: string; faults: number },
): Report {
  const rates = (name: string) => (figures.get(name) ?? []).map(({ pairsPerSecond }) => pairsPerSecond)
  const one = rates('one, all accounts')
  const own = rates('four, accounts of their own')
  const lesser = one.map((rate, round) => Math.min(rate, own[round] ?? Number.NaN))
  return {
    benchmark: 'money-processes',
    title: `admit + settle from one process and from four, ${IN_FLIGHT} in flight together, PostgreSQL (${settings})`,
    rows: [...figures].map(([processes, rounds]) => ({
      processes,
      'pairs/s': Math.round(median(rounds.map(({ pairsPerSecond }) => pairsPerSecond))),
      'p50 ms': median(rounds.map(({ p50Ms }) => p50Ms)),
      'p99 ms': median(rounds.map(({ p99Ms }) => p99Ms)),
      'PostgreSQL CPU µs': median(rounds.map(({ databaseCpuUs }) => databaseCpuUs)),
    })),
    verdicts: [
      judge('four processes over all accounts', ratioOf(rates('four, all accounts'), lesser), {
        atLeast: 0.9,
        unit: ' ×',
      }),
      judge('four processes over one hot account', ratioOf(rates('four, hot account'), rates('one, hot account')), {
        atLeast: 0.75,
        unit: ' ×',
      }),
      judge('four processes with accounts of their own', ratioOf(own, one), { atLeast: 2, unit: ' ×' }),
      judge('verify found faults in', faults, { atMost: 0, unit: ' invariants' }),
    ],
    notes: ['Ratios are to one process; over all accounts, to the lesser of one process and four with their own.'],
  }
}
