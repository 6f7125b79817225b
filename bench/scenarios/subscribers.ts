import { setTimeout as wait } from 'node:timers/promises'
import { createMoney } from '../../server/app/create-money.ts'
import { createPostgresDatabase } from '../../server/db/database.ts'
import type { Caller } from '../../server/domain/caller.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import type { RateLimiter, RatePlan } from '../../server/domain/rate-limits/rate-plan.ts'
import { createStores } from '../../server/store/create-stores.ts'
import { usageOf } from '../../test/support/money-harness.ts'
import { cpuMsBetween, cpuMsByPid, residentMegabytesOf } from '../harness/process-figures.ts'
import { REDIS_URL } from '../harness/redis-server.ts'
import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { startProvider } from '../harness/servers.ts'
import { createAccounts, startSluice } from '../harness/sluice.ts'
import { quantileOf } from '../harness/statistics.ts'
import { type SubscriberReport, type Subscribers, startSubscribers } from '../harness/subscribers.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

const ACCOUNTS = 500
const SOCKETS_PER_KEY = 10
const SETTLED_PER_SECOND = 100
const SECONDS = 15
const BURSTS = 5
/** After the last commit; a delivery that is later counts as lost. */
const ARRIVAL_MS_MAX = 15_000
const POLL_MS = 250
const HOLD_NANO_USD = 50_000n
const CHARGE_NANO_USD = 12_345n
const OPEN_WINDOW = { limit: 1, remaining: 1, resetAtMs: 0, nowMs: 0 }

/** Another process settles, so every delivery crosses processes; 10 sockets watch each account. */
export async function runSubscribers({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  await using database = await createTemporaryDatabase()
  await using provider = await startProvider()
  await using sluice = await startSluice({ databaseUrl: database.url, provider })
  using subscribers = startSubscribers(signal)
  const accounts = await createAccounts(sluice.server, ACCOUNTS)
  const idleMegabytes = residentMegabytesOf(sluice.server.pid)
  const url = `${sluice.server.origin.replace('http', 'ws')}/graphql`
  await subscribers.open({ url, keys: accounts.map(({ adminKey }) => adminKey), socketsPerKey: SOCKETS_PER_KEY })
  const openMegabytes = residentMegabytesOf(sluice.server.pid)
  await using settler = await createSettler(database.url)
  const callers = accounts.map(({ accountId }) => toCaller(accountId))
  const cpuBefore = cpuMsByPid([sluice.server.pid])
  const steady = await measure(subscribers, () => settleSteadily(settler, callers))
  const cpuMs = cpuMsBetween(cpuBefore, cpuMsByPid([sluice.server.pid]))
  const bursts: Figures[] = []
  for (let turn = 0; turn < BURSTS; turn++) {
    bursts.push(await measure(subscribers, () => Promise.all(callers.map((caller) => settler.settle(caller)))))
  }
  const burst = joined(bursts)
  const megabytes = residentMegabytesOf(sluice.server.pid)
  const sockets = ACCOUNTS * SOCKETS_PER_KEY
  return {
    benchmark: 'subscribers',
    title: `${sockets.toLocaleString('en-US')} sockets on one process, each with usageRecorded of one of ${ACCOUNTS} accounts`,
    rows: [
      { load: `${SETTLED_PER_SECOND} settlements/s`, ...cellsOf(steady), 'CPU ms/delivery': cpuMs / steady.expected },
      { load: `${ACCOUNTS} settlements at once, ${BURSTS} times`, ...cellsOf(burst) },
    ],
    verdicts: [
      judge('memory with all of them', Math.max(openMegabytes, megabytes), { atMost: 400, unit: ' MB' }),
      judge('delivery after the commit, p99', quantileOf(steady.latenciesMs, 0.99), { atMost: 250, unit: ' ms' }),
      judge('lost deliveries', steady.lost + burst.lost, { atMost: 0 }),
    ],
    notes: [
      `RSS ${idleMegabytes.toFixed(0)} MB before, ${openMegabytes.toFixed(0)} MB with all sockets open, ${megabytes.toFixed(0)} MB at the end.`,
      'A delivery is timed from the moment at which the settling process knows of its commit.',
    ],
  }
}

interface Settled {
  requestId: string
  committedAtMs: number
}

interface Settler extends AsyncDisposable {
  settle(caller: Caller): Promise<Settled>
}

interface Figures {
  latenciesMs: Float64Array
  expected: number
  lost: number
}

function cellsOf({ latenciesMs, expected, lost }: Figures) {
  return {
    deliveries: expected,
    lost,
    'p50 ms': quantileOf(latenciesMs, 0.5),
    'p99 ms': quantileOf(latenciesMs, 0.99),
    'max ms': latenciesMs.at(-1) ?? Number.NaN,
  }
}

function joined(figures: readonly Figures[]): Figures {
  return {
    latenciesMs: Float64Array.from(figures.flatMap(({ latenciesMs }) => [...latenciesMs])).toSorted(),
    expected: figures.reduce((sum, { expected }) => sum + expected, 0),
    lost: figures.reduce((sum, { lost }) => sum + lost, 0),
  }
}

async function measure(subscribers: Subscribers, settle: () => Promise<Settled[]>): Promise<Figures> {
  const settled = await settle()
  const expected = settled.length * SOCKETS_PER_KEY
  const deliveries = await arrivals(subscribers, expected)
  const committedAtMs = new Map(settled.map((request) => [request.requestId, request.committedAtMs]))
  const latenciesMs = deliveries.map(({ requestId, receivedAtMs }) =>
    Math.max(0, receivedAtMs - (committedAtMs.get(requestId) ?? Number.NaN)),
  )
  return { latenciesMs: Float64Array.from(latenciesMs).toSorted(), expected, lost: expected - deliveries.length }
}

async function arrivals(subscribers: Subscribers, expected: number): Promise<SubscriberReport['deliveries']> {
  const deadlineMs = performance.now() + ARRIVAL_MS_MAX
  const deliveries: SubscriberReport['deliveries'] = []
  while (deliveries.length < expected && performance.now() < deadlineMs) {
    await wait(POLL_MS)
    deliveries.push(...(await subscribers.report()).deliveries)
  }
  return deliveries
}

/** One after the other by the clock, for alternating accounts. */
async function settleSteadily(settler: Settler, callers: readonly Caller[]): Promise<Settled[]> {
  const startMs = performance.now()
  const settled: Promise<Settled>[] = []
  for (let index = 0; index < SETTLED_PER_SECOND * SECONDS; index++) {
    const earlyMs = startMs + (index * 1_000) / SETTLED_PER_SECOND - performance.now()
    if (earlyMs > 0) await wait(Math.ceil(earlyMs))
    const caller = callers[index % callers.length]
    if (caller !== undefined) settled.push(settler.settle(caller))
  }
  return Promise.all(settled)
}

/** The money path of a second process, without HTTP. */
async function createSettler(databaseUrl: string): Promise<Settler> {
  const log = { info: () => {}, warn: console.error, error: console.error }
  const { db, close } = createPostgresDatabase(databaseUrl)
  const stores = await createStores({
    redisUrl: REDIS_URL,
    log,
    clock: systemClock,
    shareOf: (limit) => limit,
    countRateStoreLoss: () => {},
  })
  const ids = createIdSource(systemClock)
  const rateLimits: RateLimiter = {
    admit: async (plan) => ({
      plan,
      booking: { sharedAtMs: null, localAtMs: null },
      requests: OPEN_WINDOW,
      tokens: null,
      credits: null,
    }),
    refund: () => {},
    correct: () => {},
  }
  const { metering, sweeper, accountChanges } = createMoney({
    db,
    clock: systemClock,
    ids,
    log,
    pubSub: stores.pubSub,
    wait: (milliseconds) => wait(milliseconds),
    rateLimits,
  })
  await sweeper.start()
  return {
    async settle(caller) {
      const context = { requestId: ids.requestId(), caller, signal: new AbortController().signal }
      const plan = { accountId: caller.accountId } as RatePlan
      const metered = await metering.open({ context, plan, holdNanoUsd: HOLD_NANO_USD })
      await metered.settle(usageOf(CHARGE_NANO_USD))
      return { requestId: context.requestId, committedAtMs: performance.timeOrigin + performance.now() }
    },
    async [Symbol.asyncDispose]() {
      await accountChanges.stop()
      await sweeper.stop()
      await stores.close()
      await close()
    },
  }
}

/** Without a key, so settlements need no row for one. */
function toCaller(accountId: string): Caller {
  const wallet = { walletChain: 'evm', walletAddress: '0x0000000000000000000000000000000000000000' } as const
  return { kind: 'wallet', accountId, keyId: null, tier: 'standard', modelPrivacy: 'ALL', ...wallet }
}
