import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startLoadClient } from './harness/load.ts'
import { describeMachine, formatReport, type Report } from './harness/report.ts'
import type { ScenarioOptions } from './harness/scenario.ts'
import { runAnalytics } from './scenarios/analytics.ts'
import { runChat, runStream } from './scenarios/chat.ts'
import { runDashboard } from './scenarios/dashboard.ts'
import { runHostile } from './scenarios/hostile.ts'
import { runHostileBodies } from './scenarios/hostile-bodies.ts'
import { runLatency } from './scenarios/latency.ts'
import { runLimiter } from './scenarios/limiter.ts'
import { runMoney } from './scenarios/money.ts'
import { runMoneyProcesses } from './scenarios/money-processes.ts'
import { runRpc } from './scenarios/rpc.ts'
import { runSiwx } from './scenarios/siwx.ts'
import { runStart } from './scenarios/start.ts'
import { runSubscribers } from './scenarios/subscribers.ts'

const SCENARIOS: Record<string, (options: ScenarioOptions) => Promise<Report>> = {
  chat: runChat,
  stream: runStream,
  rpc: runRpc,
  money: runMoney,
  'money-processes': runMoneyProcesses,
  limiter: runLimiter,
  latency: runLatency,
  start: runStart,
  siwx: runSiwx,
  subscribers: runSubscribers,
  analytics: runAnalytics,
  dashboard: runDashboard,
  hostile: runHostile,
  'hostile-bodies': runHostileBodies,
}
const NEEDING_PEERS = new Set(['chat', 'stream'])
const TIME_LIMIT_SECONDS = 900
/** Ten million events take minutes to generate. */
const GENERATING = new Set(['analytics', 'dashboard'])
const GENERATING_LIMIT_SECONDS = 1_800
/** Stopping the servers and dropping the database may take this long. */
const FORCED_END_SECONDS = 20
const SIGNALS = ['SIGINT', 'SIGTERM'] as const
/**
 * The engine still compiles until then: after 6,000 requests its compiler takes an eighth of Sluice's CPU, after these
 * a hundredth.
 */
const WARM_UP_REQUESTS_MIN = 20_000

const USAGE = `npm run bench -- <${Object.keys(SCENARIOS).join('|')}|all> [options]

  --rounds <n>       turns of each contender (default 5)
  --requests <n>     requests of each contender in a turn (default 3000)
  --connections <n>  requests at a time (default 16)
  --rate <n>         requests a second, the same for each contender; else as many as it answers
  --profile <folder> writes a CPU profile of Sluice (chat, stream, rpc); its figures are then no results
  --json             one JSON object instead of tables

docs/benchmarks.md says what the figures mean.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '3000' },
    connections: { type: 'string', default: '16' },
    json: { type: 'boolean', default: false },
    rate: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const names = positionals.includes('all') ? Object.keys(SCENARIOS) : positionals
const unknown = names.filter((name) => !(name in SCENARIOS))
if (values.help || names.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no benchmark called ${unknown.join(', ')}.\n`)
  console.log(USAGE)
  process.exit(values.help ? 0 : 2)
}
if (names.some((name) => NEEDING_PEERS.has(name)) && !existsSync(new URL('node_modules', import.meta.url))) {
  console.error('The peers are not installed: run `npm ci --prefix bench` first.')
  process.exit(2)
}

const machine = describeMachine()
const reports: Report[] = []
for (const name of names) {
  const report = await runScenario(name)
  reports.push(report)
  if (!values.json) console.log(formatReport(report))
}
if (values.json) console.log(JSON.stringify({ machine, reports }, undefined, 2))
else
  console.log(
    `\n${Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  )
process.exit(reports.every(({ verdicts }) => verdicts.every(({ passed }) => passed)) ? 0 : 1)

/** Ending a run early makes it throw, so its servers stop and its database is dropped by the usual clean-up. */
async function runScenario(name: string): Promise<Report> {
  const interrupted = new AbortController()
  const limitSeconds = GENERATING.has(name) ? GENERATING_LIMIT_SECONDS : TIME_LIMIT_SECONDS
  const timer = setTimeout(() => interrupted.abort(new Error('the time limit has passed')), limitSeconds * 1_000)
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  const force = () => process.exit(1)
  interrupted.signal.addEventListener('abort', () => setTimeout(force, FORCED_END_SECONDS * 1_000).unref())
  for (const signal of SIGNALS) process.once(signal, interrupt)
  try {
    using load = startLoadClient(interrupted.signal)
    const scenario = SCENARIOS[name] ?? runChat
    return await scenario({
      signal: interrupted.signal,
      load,
      rounds: Number(values.rounds),
      requests: Number(values.requests),
      warmUpRequests: Math.max(Number(values.requests), WARM_UP_REQUESTS_MIN),
      connections: Number(values.connections),
      requestsPerSecond: values.rate === undefined ? undefined : Number(values.rate),
      profileFolder: values.profile,
    })
  } finally {
    clearTimeout(timer)
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
}
