import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { startFakeNode, startProvider } from '../harness/servers.ts'
import { BENCH_MODEL, createAccounts, OPERATOR_TOKEN, type Sluice, startSluice } from '../harness/sluice.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

const RUNS = 3
const MEGABYTE = 1024 * 1024
/** The event loop monitor wakes up this often; it reports at least this much even when nothing blocks. */
const MONITOR_RESOLUTION_MS = 10

const CHAT = '/api/v1/chat/completions'
const RPC = '/api/v1/crypto/rpc/ethereum-mainnet'
const list = (count: number, item: (index: number) => string) => Array.from({ length: count }, (_, i) => item(i)).join()
const chat = (fields: string) => `{"model":"${BENCH_MODEL}","max_tokens":5,${fields}}`
const said = (content: string) => chat(`"messages":[{"role":"user","content":${content}}]`)
const call = (params: string) => `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[${params}]}`
const filled = (bytes: number, part: string) => part.repeat(Math.floor(bytes / Buffer.byteLength(part)))

interface Attack {
  path: string
  body?: string
  headers?: Record<string, string>
}

/** The largest and the strangest bodies and headers for each route. */
const ATTACKS: Record<string, () => Attack> = {
  'chat: an image of 34 MB': () => ({
    path: CHAT,
    body: said(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'A'.repeat(34 * MEGABYTE)}"}}]`),
  }),
  'chat: a word of 1 MB': () => ({ path: CHAT, body: said(`"${'a'.repeat(MEGABYTE)}"`) }),
  'chat: a text of 34 MB': () => ({ path: CHAT, body: said(`"${filled(34 * MEGABYTE, 'many words ')}"`) }),
  'chat: 34 MB of escapes': () => ({ path: CHAT, body: said(`"${filled(34 * MEGABYTE, '\\n')}"`) }),
  'chat: 34 MB of white space': () => ({ path: CHAT, body: `${' '.repeat(34 * MEGABYTE)}{}` }),
  'chat: 34 MB of digits': () => ({ path: CHAT, body: `[${'1'.repeat(34 * MEGABYTE)}]` }),
  'chat: 2,048 messages': () => ({
    path: CHAT,
    body: chat(`"messages":[${list(2_048, () => '{"role":"user","content":"x"}')}]`),
  }),
  'chat: 100,000 bad messages': () => ({ path: CHAT, body: chat(`"messages":[${list(100_000, () => '1')}]`) }),
  'chat: 10,000 bad messages': () => ({ path: CHAT, body: chat(`"messages":[${list(10_000, () => '{}')}]`) }),
  'chat: 30,000 bad parts': () => ({
    path: CHAT,
    body: chat(`"messages":[${list(30, () => `{"role":"user","content":[${list(1_000, () => '1')}]}`)}]`),
  }),
  'chat: 30,000 unknown fields': () => ({
    path: CHAT,
    body: chat(`"messages":[],${list(30_000, (i) => `"k${i}":1`)}`),
  }),
  'chat: 8,000 unknown fields in 63 KB': () => ({ path: CHAT, body: `{${list(8_000, (i) => `"${i}":1`)}}` }),
  'chat: lists in lists': () => ({ path: CHAT, body: filled(34 * MEGABYTE, '[') }),
  'embeddings: 2,048 empty texts': () => ({
    path: '/api/v1/embeddings',
    body: `{"model":"${BENCH_MODEL}","input":[${list(2_048, () => '""')}]}`,
  }),
  'RPC: unknown members': () => ({ path: RPC, body: `{"method":"eth_call"${filled(4.9 * MEGABYTE, ',"":1')}}` }),
  'RPC: 60 levels of params': () => ({
    path: RPC,
    body: call(filled(4.9 * MEGABYTE, `${'['.repeat(60)}${']'.repeat(60)},`) + '1'),
  }),
  'RPC: 250,000 values': () => ({ path: RPC, body: call(list(249_000, () => '"0x0"')) }),
  'RPC: a text of 4.9 MB': () => ({ path: RPC, body: call(`"${filled(4.9 * MEGABYTE, '\\u0041')}"`) }),
  'RPC: 100 items of 49 KB': () => ({ path: RPC, body: `[${list(100, () => call(`"${'é'.repeat(24_500)}"`))}]` }),
  'RPC: a method of 4.9 MB': () => ({ path: RPC, body: `{"method":"${'a'.repeat(4.9 * MEGABYTE)}"}` }),
  'keys: 3,000 unknown fields': () => ({ path: '/api/v1/api_keys', body: `{${list(1_500, (i) => `"k${i}":1`)}}` }),
  'GraphQL: 250 KB of brackets': () => ({ path: '/graphql', body: `{"query":"${'{'.repeat(250_000)}"}` }),
  'GraphQL: a quote with 80,000 bad values': () => ({
    path: '/graphql',
    body: `{"query":"query ($i: QuoteInput!) { quote(input: $i) { price } }","variables":{"i":{"chat":{"model":"${BENCH_MODEL}","messages":[${list(80_000, () => '1')}]}}}}`,
  }),
  'headers: a payment of 12 KB': () => ({
    path: CHAT,
    body: said('"x"'),
    headers: { 'payment-signature': Buffer.from(`{"x402Version":2,"a":${'['.repeat(8_000)}`).toString('base64') },
  }),
  'headers: a sign-in of 8 KB': () => ({
    path: CHAT,
    body: said('"x"'),
    headers: { 'sign-in-with-x': Buffer.from(`{${list(700, (i) => `"k${i}":1`)}}`).toString('base64') },
  }),
  'query: 12 KB of names': () => ({ path: `/api/v1/billing/usage-history?${filled(12_000, 'a&')}` }),
}

/** How long each of them blocks the event loop, and so every other request. */
export async function runHostileBodies({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  await using database = await createTemporaryDatabase()
  await using provider = await startProvider()
  await using node = await startFakeNode()
  await using sluice = await startSluice({ databaseUrl: database.url, provider, node })
  await send(sluice, ATTACKS['chat: 2,048 messages']?.() ?? { path: CHAT })
  const rows = []
  for (const [name, build] of Object.entries(ATTACKS)) {
    signal.throwIfAborted()
    const attack = build()
    const blocksMs: number[] = []
    let answer = ''
    for (let run = 0; run < RUNS; run++) {
      await longestBlockMs(sluice)
      answer = await send(sluice, attack)
      blocksMs.push(await longestBlockMs(sluice))
    }
    const sorted = blocksMs.toSorted((a, b) => a - b)
    rows.push({
      attack: name,
      answer,
      'median block ms': sorted[Math.floor(RUNS / 2)] ?? Number.NaN,
      'max ms': sorted.at(-1) ?? Number.NaN,
    })
  }
  const longest = Math.max(...rows.map((row) => row['median block ms']))
  return {
    benchmark: 'hostile-bodies',
    title: 'The largest and the oddest bodies of each route, and how long one keeps the event loop',
    rows,
    verdicts: [judge('the longest block, median', longest, { atMost: 20, unit: ' ms' })],
    notes: [
      `${RUNS} times each; the block is the longest delay of the event loop, of which garbage collection is a part.`,
    ],
  }
}

/** Each attack uses a key of its own, because failures block a key. */
async function send(sluice: Sluice, { path, body, headers = {} }: Attack): Promise<string> {
  const [account] = await createAccounts(sluice.server, 1)
  const response = await fetch(sluice.server.origin + path, {
    headers: { authorization: `Bearer ${account?.adminKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  await response.arrayBuffer()
  return String(response.status)
}

/** Since the previous call of this function. */
async function longestBlockMs({ server }: Sluice): Promise<number> {
  const response = await fetch(`${server.origin}/metrics`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } })
  const seconds = /^sluice_nodejs_eventloop_lag_max_seconds (\S+)/m.exec(await response.text())?.[1]
  return Math.max(0, Number(seconds) * 1_000 - MONITOR_RESOLUTION_MS)
}
