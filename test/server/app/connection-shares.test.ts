import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { startTestApp } from '../../support/app.ts'
import { eventually } from '../../support/eventually.ts'
import { createRecordingLog } from '../../support/recording-log.ts'

const SHARE = 3

async function open(url: string, localAddress: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** The status of a request on the connection; null if the server has closed it. */
async function ask(socket: Socket): Promise<string | null> {
  socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  return new Promise((resolve) => {
    socket.once('data', (chunk) => resolve(chunk.toString('latin1').slice(9, 12)))
    socket.once('close', () => resolve(null))
  })
}

test('connections of one address beyond its share are closed, and those of other addresses are served', async () => {
  const log = createRecordingLog()
  await using app = await startTestApp({ file: { http: { maxConnectionsPerAddress: SHARE } }, overrides: { log } })
  const held = await Promise.all(Array.from({ length: SHARE }, () => open(app.url, '127.0.0.1')))
  for (const socket of held) expect(await ask(socket)).toBe('200')
  expect(await ask(await open(app.url, '127.0.0.1'))).toBeNull()
  const neighbour = await open(app.url, '127.0.0.2')
  expect(await ask(neighbour)).toBe('200')
  expect(log.lines).toContainEqual(
    expect.objectContaining({ fields: { limit: 'http.maxConnectionsPerAddress', address: '127.0.0.1' } }),
  )
  held[0]?.destroy()
  await eventually(async () => {
    const socket = await open(app.url, '127.0.0.1')
    expect(await ask(socket)).toBe('200')
    held.push(socket)
  })
  for (const socket of [...held, neighbour]) socket.destroy()
})

test('connections of a trusted proxy have no share', async () => {
  const http = { maxConnectionsPerAddress: SHARE, trustedProxies: ['127.0.0.2'] }
  await using app = await startTestApp({ file: { http } })
  const held = await Promise.all(Array.from({ length: SHARE + 2 }, () => open(app.url, '127.0.0.2')))
  for (const socket of held) expect(await ask(socket)).toBe('200')
  for (const socket of held) socket.destroy()
})
