import type { Target } from '../harness/load.ts'
import { findProcesses } from '../harness/process-figures.ts'
import { findRedisProcess } from '../harness/redis-server.ts'
import { judge, type Report, ratioOf, roundRows } from '../harness/report.ts'
import { type Contender, measureRounds } from '../harness/rounds.ts'
import { describeLoad, type ScenarioOptions } from '../harness/scenario.ts'
import { startBareProxy, startFakeNode, startProvider } from '../harness/servers.ts'
import { BENCH_NETWORK, startSluice } from '../harness/sluice.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

const TARGET = {
  headers: { 'content-type': 'application/json' },
  body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
  expected: '0x1312d00',
}

/** One `eth_blockNumber`, priced, held, forwarded and charged. */
export async function runRpc(options: ScenarioOptions): Promise<Report> {
  await using provider = await startProvider()
  await using node = await startFakeNode()
  await using database = await createTemporaryDatabase()
  await using sluice = await startSluice({
    databaseUrl: database.url,
    provider,
    node,
    profileFolder: options.profileFolder,
  })
  await using bare = await startBareProxy(node)
  const redis = await findRedisProcess()
  const sluiceTarget: Target = {
    ...TARGET,
    origin: sluice.server.origin,
    path: `/api/v1/crypto/rpc/${BENCH_NETWORK}`,
    headers: { ...TARGET.headers, authorization: `Bearer ${sluice.apiKey}` },
  }
  const contenders: Contender[] = [
    { name: 'bare proxy', server: bare, target: { ...TARGET, origin: bare.origin, path: '/' } },
    {
      name: 'sluice',
      server: sluice.server,
      target: sluiceTarget,
      backing: [
        { name: 'PostgreSQL', pids: () => findProcesses(database.name) },
        { name: 'Redis', pids: () => redis },
      ],
    },
  ]
  const figures = await measureRounds(contenders, options)
  const cpu = (name: string) => (figures.get(name) ?? []).map(({ cpuMsPerRequest }) => cpuMsPerRequest)
  return {
    benchmark: 'rpc',
    title: `single eth_blockNumber, ${describeLoad(options)}`,
    rows: roundRows(figures),
    verdicts: [
      judge('CPU of Sluice per request over the bare proxy', ratioOf(cpu('sluice'), cpu('bare proxy')), {
        atMost: 2,
        unit: '×',
      }),
    ],
    notes: [`PostgreSQL: ${database.settings}`],
  }
}
