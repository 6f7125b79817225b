import { judge, type Report, ratioOf, roundRows } from '../harness/report.ts'
import { measureRounds } from '../harness/rounds.ts'
import { describeLoad, type ScenarioOptions } from '../harness/scenario.ts'
import { setUpChat } from './contenders.ts'

interface Budgets {
  bareProxy: number
  portkey: number
}

async function runChatCompletions(stream: boolean, budgets: Budgets, options: ScenarioOptions) {
  await using stage = await setUpChat(stream, options.profileFolder)
  const { contenders, databaseSettings } = stage
  const figures = await measureRounds(contenders, options)
  const cpu = (name: string) => (figures.get(name) ?? []).map(({ cpuMsPerRequest }) => cpuMsPerRequest)
  return {
    rows: roundRows(figures),
    verdicts: [
      judge('CPU of Sluice per request over the bare proxy', ratioOf(cpu('sluice'), cpu('bare proxy')), {
        atMost: budgets.bareProxy,
        unit: '×',
      }),
      judge('CPU of Sluice per request over Portkey', ratioOf(cpu('sluice'), cpu('portkey')), {
        atMost: budgets.portkey,
        unit: '×',
      }),
    ],
    notes: [
      'Sluice authenticates, limits, holds, charges and records each request; the bare proxy and Portkey do none of it.',
      `PostgreSQL: ${databaseSettings}`,
    ],
  }
}

/** The whole money path of a chat completion in JSON. */
export async function runChat(options: ScenarioOptions): Promise<Report> {
  const found = await runChatCompletions(false, { bareProxy: 2.5, portkey: 1 / 3 }, options)
  return { benchmark: 'chat', title: `chat completion, ${describeLoad(options)}`, ...found }
}

/** The same as server-sent events, 23 of them before the end mark. */
export async function runStream(options: ScenarioOptions): Promise<Report> {
  const found = await runChatCompletions(true, { bareProxy: 1.6, portkey: 0.6 }, options)
  return { benchmark: 'stream', title: `chat stream of 23 events, ${describeLoad(options)}`, ...found }
}
