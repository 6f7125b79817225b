import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR_TOKEN } from '../support/app.ts'
import { complaint, fieldsOf, HOSTILE, withField } from './hostile-values.ts'
import { type Scene, startScene } from './scene.ts'
import { PROCEDURES, TRPC_LINES } from './trpc-lines.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(async () => {
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  await scene.server.assertLedgerClean()
  await scene[Symbol.asyncDispose]()
})

const HEADERS = { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' }

async function send(path: string, isQuery: boolean, text: string): Promise<{ status: number; text: string }> {
  const query = isQuery ? `?input=${encodeURIComponent(text)}` : ''
  const init = isQuery ? { headers: HEADERS } : { method: 'POST', headers: HEADERS, body: text }
  const response = await fetch(`${scene.server.url}/trpc/${path}${query}`, init)
  return { status: response.status, text: await response.text() }
}

/** A refusal has a code; one of the input names what is at fault, unless nobody can tell. */
function faultOf(answer: { status: number; text: string }, field: readonly string[]): string | undefined {
  const fault = complaint(answer.status, answer.text)
  if (fault !== undefined || answer.status < 400) return fault
  const { error } = JSON.parse(answer.text) as {
    error: { message: string; data: { code: string; domainCode: string | null; details: unknown } }
  }
  const { code, domainCode, details } = error.data
  if (!/^[A-Z_]+$/.test(code) || code === 'INTERNAL_SERVER_ERROR') return `code ${code}: ${answer.text.slice(0, 300)}`
  if (domainCode !== 'invalid_request' || field.length === 0) return undefined
  const said = error.message + JSON.stringify(details)
  const isNamed = [...field, 'API key not found'].some((name) => said.includes(name))
  return isNamed ? undefined : `names no ${field.join('.')}: ${said}`
}

const withInput = Object.entries(PROCEDURES).flatMap(([path, { _def }]) =>
  _def.inputs.map(({ schema }) => ({ path, schema, isQuery: _def.type === 'query' })),
)

describe.each(withInput)('$path', ({ path, schema, isQuery }) => {
  test('rejects invalid values in any field of its input by code and by name', async () => {
    const base = await TRPC_LINES[path]?.(scene)
    for (const field of [[], ...fieldsOf(schema, 2)]) {
      const faults = HOSTILE.map(async ([what, value]) => {
        const fault = faultOf(await send(path, isQuery, JSON.stringify(withField(base, field, value))), field)
        return fault === undefined ? [] : [[field.join('.'), what, fault]]
      })
      expect((await Promise.all(faults)).flat()).toEqual([])
    }
  })
})
