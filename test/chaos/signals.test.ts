import { describe, expect, test } from 'vitest'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { type Answer, send } from './request.ts'
import { startChaosUpstream } from './upstream.ts'

async function isServing(url: string): Promise<boolean> {
  return fetch(`${url}/health/live`).then(
    () => true,
    () => false,
  )
}

async function isTakingRequests(url: string): Promise<boolean> {
  return fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** A server with a stream open that goes on when `finish` is called. */
async function startWithStream({ throughNpm }: { throughNpm: boolean }) {
  const opened = new AsyncDisposableStack()
  const upstream = opened.use(await startChaosUpstream())
  const database = opened.use(await createTestDatabase('postgres'))
  const gate = Promise.withResolvers<void>()
  upstream.continueAfter = gate.promise
  const server = opened.use(
    await startServerProcess({ databaseUrl: database.url ?? '', config: upstream.config, throughNpm }),
  )
  const { adminKey } = await server.createAccount('1')
  const head = Promise.withResolvers<unknown>()
  const stream = send('stream', { url: server.url, key: adminKey, onHead: head.resolve })
  await head.promise
  return { server, stream, finish: gate.resolve, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function expectCleanEnd(server: ServerProcess, stream: Promise<Answer>): Promise<void> {
  expect((await stream).complete).toBe(true)
  expect(await server.exited).toEqual({ code: 0, signal: null })
  expect(await isServing(server.url)).toBe(false)
}

describe.runIf(hasEngine('postgres'))('a server with an open stream', () => {
  test.each([
    ['SIGTERM to npm alone, as a supervisor sends it', 'SIGTERM', 'process'],
    ['SIGINT to npm alone', 'SIGINT', 'process'],
    ['SIGINT to npm and the server at once, as Ctrl+C in a terminal sends it', 'SIGINT', 'group'],
  ] as const)('started by npm start completes it and exits with 0 on %s', async (_, signal, to) => {
    await using running = await startWithStream({ throughNpm: true })
    running.server.signal(signal, to)
    while (await isTakingRequests(running.server.url));
    running.finish()
    await expectCleanEnd(running.server, running.stream)
  })

  test('cuts it and ends with 130 when the signal is repeated a second later', async () => {
    await using running = await startWithStream({ throughNpm: false })
    const repeated = setInterval(() => running.server.signal('SIGINT'), 20)
    expect(await running.server.exited).toEqual({ code: 130, signal: null })
    clearInterval(repeated)
    expect((await running.stream).complete).toBe(false)
  })
})
