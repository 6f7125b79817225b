import { readFile, writeFile } from 'node:fs/promises'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { type RpcNodeServer, startRpcNode } from '../support/rpc-node.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

const ANSWER_BYTES = 100_000_000
const GROWTH_MEGABYTES_MAX = 64
const WARM_UP_CALLS = 200

/** Sends one call; resolves with the size of the answer, read at full speed and thrown away. */
function call(server: ServerProcess, key: string, sent: OutgoingHttpHeaders = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity', ...sent }
    const exchange = request(
      `${server.url}/api/v1/crypto/rpc/ethereum-mainnet`,
      { method: 'POST', headers },
      (response) => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => (bytes += chunk.length))
        response.once('error', reject).once('end', () => resolve(bytes))
      },
    )
    exchange.once('error', reject).end('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')
  })
}

/** By how many megabytes the process grew while it did something, at the worst moment. */
async function growthMegabytes(pid: number, run: () => Promise<unknown>): Promise<number> {
  const read = async (field: string): Promise<number> => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
  }
  // Resets the peak.
  await writeFile(`/proc/${pid}/clear_refs`, '5')
  const before = await read('VmRSS')
  await run()
  return (await read('VmHWM')) - before
}

async function startWarm(node: RpcNodeServer, databaseUrl: string) {
  const config = {
    rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: node.url }] } } },
    idempotency: { maxResponseBytes: 2 * ANSWER_BYTES, maxAccountBytes: 4 * ANSWER_BYTES },
  }
  const server = await startServerProcess({ databaseUrl, config })
  const { adminKey } = await server.createAccount('5')
  for (let count = 0; count < WARM_UP_CALLS; count += 1) await call(server, adminKey)
  return { server, adminKey }
}

describe.runIf(hasEngine('postgres') && process.platform === 'linux')('a trace of 100 MB', () => {
  test.each(['identity', 'gzip', 'br'])('passes in %s while the server grows by less than 64 MB', async (encoding) => {
    await using node = await startRpcNode()
    await using database = await createTestDatabase('postgres')
    const { server, adminKey } = await startWarm(node, database.url ?? '')
    await using _running = server
    for (let count = 0; count < 3; count += 1) {
      node.failNext({ kind: 'huge', bytes: ANSWER_BYTES })
      let bytes = 0
      const growth = await growthMegabytes(server.pid, async () => {
        bytes = await call(server, adminKey, { 'accept-encoding': encoding })
      })
      if (encoding === 'identity') expect(bytes).toBeGreaterThan(ANSWER_BYTES)
      else expect(bytes).toBeLessThan(ANSWER_BYTES / 100)
      expect(growth).toBeLessThan(GROWTH_MEGABYTES_MAX)
    }
  })

  test('is kept under an idempotency key and replayed within twice the bound, although it is also sealed and stored', async () => {
    await using node = await startRpcNode()
    await using database = await createTestDatabase('postgres')
    const { server, adminKey } = await startWarm(node, database.url ?? '')
    await using _running = server
    node.failNext({ kind: 'huge', bytes: ANSWER_BYTES })
    const sizes: number[] = []
    const growths: number[] = []
    for (let count = 0; count < 3; count += 1) {
      const growth = await growthMegabytes(server.pid, async () => {
        sizes.push(await call(server, adminKey, { 'idempotency-key': 'trace' }))
      })
      growths.push(growth)
    }
    for (const growth of growths) expect(growth, growths.join(', ')).toBeLessThan(2 * GROWTH_MEGABYTES_MAX)
    expect(sizes).toEqual([ANSWER_BYTES + 36, ANSWER_BYTES + 36, ANSWER_BYTES + 36])
  })
})
