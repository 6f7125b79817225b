import type { Target } from '../harness/load.ts'
import { findProcesses } from '../harness/process-figures.ts'
import { findRedisProcess } from '../harness/redis-server.ts'
import type { Contender } from '../harness/rounds.ts'
import type { ServerProcess } from '../harness/server-process.ts'
import { startBareProxy, startPortkey, startProvider } from '../harness/servers.ts'
import { BENCH_MODEL, type Sluice, startSluice } from '../harness/sluice.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

/** The servers of one chat benchmark; they end with it. */
export interface ChatStage extends AsyncDisposable {
  contenders: Contender[]
  databaseSettings: string
}

function chatBody(model: string, stream: boolean): string {
  return JSON.stringify({
    model,
    messages: [
      { role: 'system', content: 'You answer in one short sentence.' },
      { role: 'user', content: 'What is the capital of France?' },
    ],
    max_tokens: 64,
    temperature: 0.7,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  })
}

export function directTarget(provider: ServerProcess, stream: boolean): Target {
  return {
    origin: provider.origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: chatBody('fake-model', stream),
    expected: stream ? '[DONE]' : '"usage"',
  }
}

export function sluiceTarget(sluice: Sluice, stream: boolean): Target {
  return {
    ...directTarget(sluice.server, stream),
    path: '/api/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${sluice.apiKey}` },
    body: chatBody(BENCH_MODEL, stream),
  }
}

function portkeyTarget(portkey: ServerProcess, provider: ServerProcess, stream: boolean): Target {
  return {
    ...directTarget(portkey, stream),
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer bench',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${provider.origin}/v1`,
    },
  }
}

export async function setUpChat(stream: boolean, profileFolder?: string): Promise<ChatStage> {
  const stack = new AsyncDisposableStack()
  try {
    const provider = stack.use(await startProvider())
    const database = stack.use(await createTemporaryDatabase())
    const sluice = stack.use(await startSluice({ databaseUrl: database.url, provider, profileFolder }))
    const bare = stack.use(await startBareProxy(provider))
    const portkey = stack.use(await startPortkey())
    const redis = await findRedisProcess()
    const contenders: Contender[] = [
      { name: 'bare proxy', server: bare, target: directTarget(bare, stream) },
      {
        name: 'sluice',
        server: sluice.server,
        target: sluiceTarget(sluice, stream),
        backing: [
          { name: 'PostgreSQL', pids: () => findProcesses(database.name) },
          { name: 'Redis', pids: () => redis },
        ],
      },
      { name: 'portkey', server: portkey, target: portkeyTarget(portkey, provider, stream) },
    ]
    return { contenders, databaseSettings: database.settings, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}
