import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { requestJson } from '../../../../server/upstream/chain/bounded-request.ts'
import { createEvmClient, createScopedClient } from '../../../../server/upstream/chain/evm-client.ts'
import { isUnanswered } from '../../../../server/upstream/chain/unanswered.ts'
import { startListener } from '../../../support/hostile-contracts.ts'

const HUGE_BYTES = 700_000_000
const CHUNK = Buffer.alloc(1_000_000, '1')

async function startNode(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends a response that never ends, one byte at a time. */
const trickle: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}

let hugeBytesSent = 0
const sendHuge: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const send = (): void => {
    while (!response.destroyed && hugeBytesSent < HUGE_BYTES) {
      hugeBytesSent += CHUNK.length
      if (!response.write(CHUNK)) return void response.once('drain', send)
    }
    response.end()
  }
  send()
}

const read = (url: string) => createEvmClient(url, { retryCount: 0, timeoutMs: 300 }).getChainId()
const readJson = (url: string) => requestJson(url, { method: 'POST', body: {}, deadlineMs: 300 })

test('a client rejects the redirect of a node and calls nobody else', async () => {
  await using listener = await startListener()
  await using node = await startNode((_, response) => response.writeHead(307, { location: listener.url }).end())
  await expect(read(node.url)).rejects.toSatisfy(isUnanswered)
  expect(await readJson(node.url)).toEqual({ status: 307, value: undefined })
  expect(listener.connections).toBe(0)
})

test('a client gives up on a node that trickles its response', async () => {
  await using node = await startNode(trickle)
  await expect(read(node.url)).rejects.toSatisfy(isUnanswered)
  await expect(readJson(node.url)).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('one operation ends as a whole, however many calls it makes', async () => {
  await using node = await startNode(trickle)
  const client = createScopedClient(createEvmClient(node.url), AbortSignal.timeout(300))
  await expect(client.getChainId()).rejects.toSatisfy(isUnanswered)
  await expect(client.getChainId()).rejects.toSatisfy(isUnanswered)
})

test('a client stops reading a response of 700 MB early', async () => {
  await using node = await startNode(sendHuge)
  await expect(createEvmClient(node.url, { retryCount: 0 }).getChainId()).rejects.toSatisfy(isUnanswered)
  await expect(requestJson(node.url, { method: 'POST', body: {}, deadlineMs: 10_000 })).rejects.toThrow('larger than')
  expect(hugeBytesSent).toBeLessThan(HUGE_BYTES / 10)
})
