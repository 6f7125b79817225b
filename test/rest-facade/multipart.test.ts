import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { UploadedFile } from '../../rest-facade/multipart.ts'
import { defineRoute, type RouteBody } from '../../rest-facade/route.ts'
import { type RestHarness, startRestHarness } from '../support/rest-harness.ts'

const FORM = { partsMax: 4, partBytesMax: 1_000, files: ['image'] }
const body = (kind: 'multipart' | 'json-or-multipart'): RouteBody => ({
  kind,
  limitBytes: 1_000_000,
  schema: z.unknown(),
  form: FORM,
})
const common = { method: 'post', access: 'public', limits: null, errors: [] } as const

/** Tells what was read, and what an idempotency key would compare. */
const readRoute = defineRoute({
  ...common,
  path: '/read',
  summary: 'Read a form',
  body: body('json-or-multipart'),
  output: { json: z.object({ body: z.unknown(), fingerprint: z.string() }) },
  handler: async (exchange) => ({
    json: { body: describeFiles(exchange.body), fingerprint: exchange.rawBody.toString() },
  }),
})

const echoRoute = defineRoute({
  ...common,
  path: '/echo',
  summary: 'Send a file back',
  body: body('multipart'),
  output: { content: ['image/png'] },
  handler: async (exchange) => {
    const { image } = exchange.body as { image: UploadedFile }
    return { content: image.bytes, contentType: 'image/png' }
  },
})

function describeFiles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(describeFiles)
  if (typeof value !== 'object' || value === null) return value
  if ('bytes' in value && Buffer.isBuffer(value.bytes)) return { ...value, bytes: value.bytes.toString('hex') }
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, describeFiles(inner)]))
}

let harness: RestHarness
beforeAll(async () => {
  harness = await startRestHarness([readRoute, echoRoute], { caller: { kind: 'key' } as never })
})
afterAll(() => harness[Symbol.asyncDispose]())

type Parts = [name: string, value: string | Blob, fileName?: string][]

function formOf(parts: Parts): FormData {
  const form = new FormData()
  for (const [name, value, fileName] of parts) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, value, fileName)
  }
  return form
}

const png = (...bytes: number[]) => new Blob([Uint8Array.from(bytes)], { type: 'image/png' })
const send = (path: string, form: FormData) => fetch(`${harness.baseUrl}${path}`, { method: 'POST', body: form })

async function sendRaw(contentType: string, text: string, path = '/read') {
  const headers = { 'content-type': contentType }
  const response = await fetch(`${harness.baseUrl}${path}`, { method: 'POST', headers, body: text })
  return { status: response.status, body: await response.json() }
}

describe('a form', () => {
  test('is read as an object of its parts, with a list if a name is repeated', async () => {
    const parts: Parts = [
      ['prompt', 'größer 🦊'],
      ['image', png(1, 2), 'a.png'],
      ['image', png(255), 'ü.png'],
      ['__proto__', 'x'],
    ]
    const { body: read } = (await (await send('/read', formOf(parts))).json()) as { body: object }
    expect(Object.entries(read)).toEqual([
      ['prompt', 'größer 🦊'],
      [
        'image',
        [
          { fileName: 'a.png', contentType: 'image/png', bytes: '0102' },
          { fileName: 'ü.png', contentType: 'image/png', bytes: 'ff' },
        ],
      ],
      ['__proto__', 'x'],
    ])
  })

  test('equals only a form with the same parts, under any boundary', async () => {
    const fingerprintOf = async (parts: Parts) =>
      ((await (await send('/read', formOf(parts))).json()) as { fingerprint: string }).fingerprint
    const parts: Parts = [
      ['prompt', 'a'],
      ['image', png(1), 'a.png'],
    ]
    const first = await fingerprintOf(parts)
    expect(await fingerprintOf(parts)).toBe(first)
    const others: Parts[] = [
      [['prompt', 'b'], parts[1] as Parts[0]],
      [parts[0] as Parts[0], ['image', png(2), 'a.png']],
      [parts[0] as Parts[0], ['image', png(1), 'b.png']],
      [parts[0] as Parts[0]],
    ]
    expect(await Promise.all(others.map(fingerprintOf))).not.toContain(first)
  })

  test('may be sent as JSON where the route takes both', async () => {
    const { body: answer } = await sendRaw('application/json', '{"prompt":"a"}')
    expect(answer).toEqual({ body: { prompt: 'a' }, fingerprint: '{"prompt":"a"}' })
  })

  test('gets bytes back from a route that declares them', async () => {
    const response = await send('/echo', formOf([['image', png(137, 80, 0, 255), 'a.png']]))
    expect(response.headers.get('content-type')).toBe('image/png')
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(Uint8Array.from([137, 80, 0, 255]))
  })
})

const TYPE = 'multipart/form-data; boundary=x'
const part = (head: string, content = 'a') => `--x\r\n${head}\r\n\r\n${content}\r\n`
const field = (name: string, content?: string) => part(`Content-Disposition: form-data; name="${name}"`, content)
const file = (name: string, content?: string) =>
  part(`Content-Disposition: form-data; name="${name}"; filename="f"`, content)
const END = '--x--\r\n'

describe('a form is rejected with a sentence that names the fault:', () => {
  test.each([
    ['no boundary', 'multipart/form-data; x=y', field('a') + END, 400, /has no boundary/],
    ['another boundary', 'multipart/form-data; boundary=y', field('a') + END, 400, /not a complete form/],
    ['an end within a text', TYPE, field('a').slice(0, -4), 400, /not a complete form/],
    ['an end within a file', TYPE, file('image').slice(0, -4), 400, /not a complete form/],
    ['too many parts', TYPE, field('a').repeat(5) + END, 400, /more than the maximum of 4 parts/],
    ['a part without a name', TYPE, part('Content-Disposition: form-data') + END, 400, /has no name/],
    ['a long name', TYPE, field('a'.repeat(101)) + END, 400, /more than 100 characters/],
    ['a file where none is taken', TYPE, file('prompt') + END, 400, /prompt: must not be a file.*image/],
    [
      'a large file',
      TYPE,
      file('image', 'a'.repeat(1_001)) + END,
      413,
      /part image is larger than its maximum of 1000 bytes/,
    ],
    ['a large text', TYPE, field('a', 'a'.repeat(262_145)) + END, 413, /part a is larger than/],
  ])('%s', async (_name, type, text, status, message) => {
    expect(await sendRaw(type, text)).toMatchObject({ status, body: { error: expect.stringMatching(message) } })
  })

  test.each([
    ['application/json', '/echo', "'multipart/form-data'"],
    ['text/plain', '/read', "'application/json' or 'multipart/form-data'"],
  ])('%s to %s', async (type, path, named) => {
    const answer = await sendRaw(type, '{}', path)
    expect(answer).toMatchObject({ status: 415, body: { error: `'Content-Type' must be ${named}` } })
  })
})
