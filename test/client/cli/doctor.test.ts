import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { runCli } from '../../../client/cli/run-cli.ts'
import { createPostgresDatabase } from '../../../server/db/database.ts'
import { OPERATOR_TOKEN, startTestApp } from '../../support/app.ts'
import { createTestDatabase, hasEngine } from '../../support/database.ts'
import { startRpcNode } from '../../support/rpc-node.ts'

async function doctor(serverUrl: string, ...options: string[]) {
  let stdout = ''
  let stderr = ''
  const streams = { stdout: (text: string) => void (stdout += text), stderr: (text: string) => void (stderr += text) }
  const env = { serverUrl, operatorToken: OPERATOR_TOKEN, dataDir: '/nowhere' }
  const exitCode = await runCli(['doctor', ...options], env, streams)
  return { exitCode, stdout, stderr }
}

test('doctor distinguishes matching, silent and wrong nodes and fails only for the wrong ones', async () => {
  await using node = await startRpcNode()
  const upstreams = [{ url: node.url }, { url: 'http://127.0.0.1:1/' }]
  await using server = await startTestApp({
    file: {
      rpc: { networks: { 'ethereum-mainnet': { upstreams }, 'base-mainnet': { upstreams: [{ url: node.url }] } } },
    },
  })
  const checked = await doctor(server.app.url)
  const lines = checked.stdout.split('\n').filter((line) => line.includes('-mainnet#'))
  expect(lines.toSorted()).toEqual([
    'REFUSED   base-mainnet#1  eth_chainId returned 1, but base-mainnet is 8453: configure another node',
    'WARNING   ethereum-mainnet#2  did not respond to eth_chainId (ECONNREFUSED)',
    'ok        ethereum-mainnet#1  serves eip155:1',
  ])
  expect([checked.exitCode, checked.stderr]).toEqual([1, expect.stringContaining('serves another chain')])

  node.results.set('eth_chainId', '"0x2105"')
  const { ok, nodes } = JSON.parse((await doctor(server.app.url, '--json')).stdout)
  expect(ok).toBe(false)
  expect(nodes).toContainEqual({
    nodeId: 'base-mainnet#1',
    network: 'base-mainnet',
    origin: 'configured',
    status: 'matches',
    expected: '8453',
    found: '8453',
    detail: 'serves eip155:8453',
  })
})

test('doctor succeeds when there is nothing wrong, also when nothing is configured', async () => {
  await using server = await startTestApp()
  const healthy = await doctor(server.app.url)
  expect(healthy.exitCode).toBe(0)
  const notOk = healthy.stdout.split('\n').filter((line) => line !== '' && !line.startsWith('ok'))
  // The tests' own pepper is a short one, and no database of theirs waits for a disk.
  const expected = ['durability', 'key_pepper']
  expect(notOk).toEqual(expected.map((name) => expect.stringMatching(new RegExp(`^WARNING {3}${name} `))))
})

test.runIf(hasEngine('postgres'))('doctor calls a database durable whose commits wait for its disk', async () => {
  await using database = await createTestDatabase('postgres')
  const url = database.url ?? ''
  await sql`alter database ${sql.ref(new URL(url).pathname.slice(1))} reset synchronous_commit`.execute(database.db)
  const { db, close } = createPostgresDatabase(url)
  const server = await startTestApp({ overrides: { db } })
  expect((await doctor(server.app.url)).stdout).toMatch(/^ok +durability /m)
  await server.close()
  await close()
})
