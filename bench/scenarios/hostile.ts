import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { startProvider } from '../harness/servers.ts'
import { type Sluice, startSluice } from '../harness/sluice.ts'
import { quantileOf } from '../harness/statistics.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

const RUNS = 20

const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(' ')
const query = (text: string) => JSON.stringify({ query: text })

interface Attack {
  /** Path of a REST request, which is sent with a key and uses GET if it has no body. Absent for GraphQL, which is sent without a credential. */
  path?: string
  body?: string
  code: string
}

/** Oversized or meaningless requests, with the code of their rejection. */
const ATTACKS: Record<string, Attack> = {
  '1,000 aliases': { body: query(`{ ${repeat(1_000, (i) => `a${i}: __typename`)} }`), code: 'QUERY_TOO_LARGE' },
  '5,000 fields': { body: query(`{ ${repeat(5_000, () => '__typename')} }`), code: 'QUERY_TOO_LARGE' },
  'a depth of 100': {
    body: query(`{ viewer { ${'apiKeys { nodes { '.repeat(50)} id ${'} }'.repeat(50)} } }`),
    code: 'QUERY_TOO_DEEP',
  },
  'fragments that multiply': {
    body: query(
      `{ viewer { ...f0 ...f0 } } ${repeat(30, (i) => `fragment f${i} on Account { a${i}: id ...f${i + 1} ...f${i + 1} }`)} fragment f30 on Account { z: id }`,
    ),
    code: 'TOO_MANY_ALIASES',
  },
  'pages of pages': {
    body: query(`{ ${repeat(10, (i) => `m${i}: models(first: 100) { nodes { pricing { extended { input } } } }`)} }`),
    code: 'QUERY_TOO_COMPLEX',
  },
  'a query of 1 MB': { body: query(`{ __typename } # ${'x'.repeat(1_000_000)}`), code: 'PAYLOAD_TOO_LARGE' },
  'a query of 250 KB': { body: query(`{ viewer { ${'id '.repeat(80_000)} } }`), code: 'QUERY_TOO_LARGE' },
  'variables nested 100,000 deep': {
    body: `{"query":"query ($n: Int!) { models(first: $n) { nodes { name } } }","variables":{"n":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
    code: 'BAD_USER_INPUT',
  },
  'a batch of 100': {
    body: `[${repeat(100, () => query('{ __typename }')).replaceAll(' {"', ',{"')}]`,
    code: 'BAD_REQUEST',
  },
  'REST: 91 days of usage': { path: '/api/v1/billing/usage-analytics?lookback=91d', code: 'INVALID_REQUEST' },
  'REST: a reversed range': {
    path: '/api/v1/billing/usage-analytics?startDate=2026-02-01&endDate=2026-01-01',
    code: 'INVALID_REQUEST',
  },
  'REST: the year 9999': {
    path: '/api/v1/billing/usage-analytics?startDate=9999-12-01&endDate=9999-12-31',
    code: 'INVALID_REQUEST',
  },
  'REST: a cursor of no list': { path: '/api/v1/billing/usage-history?cursor=bm90aGluZw', code: 'INVALID_REQUEST' },
  'REST: a path that nobody can read': { path: '/api/v1/api_keys/%ff', code: 'INVALID_REQUEST' },
  'REST: a chat nested 100,000 deep': {
    path: '/api/v1/chat/completions',
    body: '['.repeat(100_000),
    code: 'INVALID_REQUEST',
  },
  'REST: a key of 1 MB': {
    path: '/api/v1/api_keys',
    body: JSON.stringify({ apiKeyType: 'ADMIN', description: 'x'.repeat(1_000_000) }),
    code: 'PAYLOAD_TOO_LARGE',
  },
}

/** How long the server takes to reject hostile requests, one after the other. */
export async function runHostile({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  await using database = await createTemporaryDatabase()
  await using provider = await startProvider()
  await using sluice = await startSluice({ databaseUrl: database.url, provider })
  const rows = []
  for (const [name, attack] of Object.entries(ATTACKS)) {
    signal.throwIfAborted()
    const latenciesMs: number[] = []
    // More than 20 failures would block a key.
    const apiKey = attack.path === undefined ? undefined : await createKey(sluice)
    for (let run = 0; run < RUNS; run++) latenciesMs.push(await refuse(sluice.server.origin, attack, apiKey))
    const sorted = latenciesMs.toSorted((a, b) => a - b)
    rows.push({
      attack: name,
      code: attack.code,
      'p50 ms': quantileOf(sorted, 0.5),
      'max ms': sorted.at(-1) ?? Number.NaN,
    })
  }
  const slowestMs = Math.max(...rows.map((row) => row['p50 ms']))
  return {
    benchmark: 'hostile',
    title: 'Requests that ask for too much or for nonsense, each refused with its code',
    rows,
    verdicts: [judge('the slowest refusal, p50', slowestMs, { atMost: 50, unit: ' ms' })],
    notes: [`${RUNS} times each, GraphQL without a credential; the first of them find a cold server.`],
  }
}

async function createKey({ server, apiKey }: Sluice): Promise<string> {
  const response = await fetch(`${server.origin}/api/v1/api_keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ apiKeyType: 'ADMIN', description: 'bench' }),
  })
  const { data } = (await response.json()) as { data: { apiKey: string } }
  return data.apiKey
}

async function refuse(origin: string, { path, body, code }: Attack, apiKey: string | undefined): Promise<number> {
  const key: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  const init = { headers: { 'content-type': 'application/json', ...key } }
  const startMs = performance.now()
  const response = await fetch(
    origin + (path ?? '/graphql'),
    body === undefined ? init : { ...init, method: 'POST', body },
  )
  const text = await response.text()
  const tookMs = performance.now() - startMs
  if (text.includes(`"code":"${code}"`)) return tookMs
  throw new Error(`${response.status} in place of ${code}: ${text.slice(0, 400)}`)
}
