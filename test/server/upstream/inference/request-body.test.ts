import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { InferenceProvider, ProviderRequest } from '../../../../server/domain/inference/providers/provider.ts'
import { createOpenAiProvider } from '../../../../server/upstream/inference/openai-provider.ts'
import { readBytes } from '../../../support/drain.ts'

interface Received {
  path: string | undefined
  headers: IncomingMessage['headers']
  body: Buffer
}

const AUDIO = Buffer.from([0xff, 0xf3, 0x00, 0x0d, 0x0a])
const received: Received[] = []
const server = createServer(async (request, response) => {
  received.push({ path: request.url, headers: request.headers, body: await readBytes(request) })
  response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(AUDIO)
})
let provider: InferenceProvider

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  provider = createOpenAiProvider({ id: 'main', baseUrl: `http://127.0.0.1:${port}/v1`, timeoutSeconds: 20 })
})
beforeEach(() => void received.splice(0))
afterAll(async () => {
  await provider.close()
  server.close()
})

function send(request: Pick<ProviderRequest, 'operation' | 'body'>) {
  const { signal } = new AbortController()
  return provider.send({ model: 'upstream-m', accepts: 'binary', signal, ...request })
}

test('a file with fields arrives as multipart, with the model, and a binary response comes back byte for byte', async () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 256)
  const file = { name: 'file', fileName: 'sprache.wav', contentType: 'audio/wav', bytes }
  const response = await send({
    operation: 'transcription',
    body: { kind: 'multipart', fields: [['language', 'de']], files: [file] },
  })
  expect(await readBytes(response.body)).toEqual(AUDIO)
  const [request] = received
  expect(request?.path).toBe('/v1/audio/transcriptions')
  const form = await new Response(new Uint8Array(request?.body ?? []), {
    headers: { 'content-type': String(request?.headers['content-type']) },
  }).formData()
  expect([form.get('model'), form.get('language')]).toEqual(['upstream-m', 'de'])
  const arrived = form.get('file') as File
  expect([arrived.name, arrived.type]).toEqual(['sprache.wav', 'audio/wav'])
  expect(Buffer.from(await arrived.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true)
})

test('a binary body arrives byte for byte with its content type', async () => {
  await readBytes(
    (await send({ operation: 'imageEdit', body: { kind: 'binary', contentType: 'image/png', bytes: AUDIO } })).body,
  )
  expect(received[0]).toMatchObject({ path: '/v1/images/edits', headers: { 'content-type': 'image/png' }, body: AUDIO })
})

test.each([
  ['an image of 3 MB', 'A'.repeat(3_000_000)],
  ['text that must be escaped', '"\\\n\u0000'.repeat(400_000)],
  ['pairs of surrogates across every cut', `x${'😀'.repeat(700_000)}`],
  ['several alphabets', 'äжあ'.repeat(500_000)],
])('a prompt with %s arrives as JSON of the same value', async (_name, text) => {
  const messages = [
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'text', text: 'short' },
      ],
    },
  ]
  const value = { messages, n: 1, skipped: undefined, tags: [text, null, true] }
  await readBytes((await send({ operation: 'chat', body: { kind: 'json', value } })).body)
  expect(Number(received[0]?.headers['content-length'])).toBe(received[0]?.body.length)
  const arrived: unknown = JSON.parse(received[0]?.body.toString() ?? '')
  expect(arrived).toEqual({ messages, n: 1, tags: [text, null, true], model: 'upstream-m' })
})
