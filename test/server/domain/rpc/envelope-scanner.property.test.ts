import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { DomainError } from '../../../../server/domain/errors.ts'
import { type Envelope, RPC_NESTING_LEVELS_MAX, scanEnvelope } from '../../../../server/domain/rpc/envelope-scanner.ts'
import { parseReference, type ReferenceNode } from '../../../support/json-reference.ts'
import { repeats } from '../../../support/soak.ts'

const CASES = repeats(1_000, { soak: 20_000 })

const space = fc.constantFrom('', '', '', ' ', '\n\t')
const rawValue = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.bigInt().map(String),
  fc.constantFrom('1.5', '1e3', '-0', '[]', '{}', 'null', '"\\u0041"', '18446744073709551615', '{"a":1,"a":2}'),
)
const version = fc.constant('"jsonrpc":"2.0"')
const method = fc.string().map((name) => `"method":${JSON.stringify(name)}`)
const id = fc.oneof(
  fc.bigInt().map((value) => `"id":${value}`),
  fc.string().map((value) => `"id":${JSON.stringify(value)}`),
)
const params = fc.array(rawValue, { maxLength: 4 }).map((values) => `"params":[${values.join(' , ')}]`)
const odd = fc
  .tuple(fc.constantFrom('id', 'ID', 'method', 'Params', '\\u0069d', 'x'), rawValue)
  .map(([name, value]) => `"${name}":${value}`)
const request = fc
  .tuple(
    fc.option(version),
    fc.option(method, { freq: 15 }),
    fc.option(id),
    fc.option(params),
    fc.option(odd, { freq: 1, nil: null }),
    space,
  )
  .chain(([...parts]) => {
    const gap = parts.pop() ?? ''
    const members = parts.filter((part) => part !== null)
    return fc
      .shuffledSubarray(members, { minLength: members.length })
      .map((shuffled) => `{${gap}${shuffled.join(`${gap},${gap}`)}}`)
  })
const body = fc.oneof(
  request,
  fc.array(request, { maxLength: 4 }).map((items) => `[${items.join()}]`),
)
const mutated = fc
  .tuple(
    body,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '\\', '0', '.', 'e', 'é', '\u0000', 'null'),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((current, [position, insert]) => {
      const at = position % (current.length + 1)
      return current.slice(0, at) + insert + current.slice(at + (position % 3))
    }, text),
  )

const ENVELOPE = ['jsonrpc', 'id', 'method', 'params']

function isAcceptableItem(node: ReferenceNode): boolean {
  if (node.kind !== 'object') return false
  const names = node.members.map((entry) => entry.name)
  const folded = names.map((name) => name.toUpperCase())
  if (
    ENVELOPE.some((key) => folded.filter((name) => name === key.toUpperCase()).length > (names.includes(key) ? 1 : 0))
  )
    return false
  const get = (name: string) => node.members.find((entry) => entry.name === name)?.value
  const id = get('id')
  const version = get('jsonrpc')
  const params = get('params')
  return (
    get('method')?.kind === 'string' &&
    (version === undefined || (version.kind === 'string' && JSON.parse(version.raw) === '2.0')) &&
    (id === undefined || id.kind === 'string' || (id.kind === 'number' && /^-?\d+$/.test(id.raw))) &&
    (params === undefined || params.kind === 'array')
  )
}

/** What the scanner should find, from `JSON.parse` and checks; undefined where it should refuse. */
function expected(text: string): ReferenceNode[] | undefined {
  if (text.startsWith('\uFEFF')) return undefined
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  const root = parseReference(text)
  if (root.depth > RPC_NESTING_LEVELS_MAX) return undefined
  const items = root.kind === 'array' ? root.elements : [root]
  return items.length > 0 && items.length <= 100 && items.every(isAcceptableItem) ? items : undefined
}

function scanOrRefuse(bytes: Buffer): Envelope | undefined {
  try {
    return scanEnvelope(bytes)
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError)
    return undefined
  }
}

test('accepts exactly what a reference parser with the same rules accepts, and finds the same parts', () => {
  fc.assert(
    fc.property(fc.oneof(body, mutated), (text) => {
      const bytes = Buffer.from(text)
      const found = scanOrRefuse(bytes)?.items
      const wanted = expected(bytes.toString())
      const slice = (range: { start: number; end: number } | null) =>
        range === null ? undefined : bytes.toString('utf8', range.start, range.end)
      const raw = (node: ReferenceNode, name: string) => node.members.find((entry) => entry.name === name)?.value.raw
      expect(found?.map((item) => [slice(item.range), item.method, slice(item.id), slice(item.params)])).toEqual(
        wanted?.map((node) => [node.raw, JSON.parse(raw(node, 'method') ?? ''), raw(node, 'id'), raw(node, 'params')]),
      )
    }),
    { numRuns: CASES },
  )
})

test('answers arbitrary bytes with an envelope or a typed rejection, never with another failure', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom('', '{"method":"a","params":[', '[{"id":'),
      (bytes, prefix) => {
        const input = Buffer.concat([Buffer.from(prefix), bytes])
        const items = scanOrRefuse(input)?.items ?? []
        expect(items.every((item) => item.range.end <= input.length)).toBe(true)
      },
    ),
    { numRuns: CASES },
  )
})

test('both verdicts are well represented among the generated bodies', () => {
  const accepted = fc
    .sample(fc.oneof(body, mutated), { numRuns: 1_000, seed: 1 })
    .filter((text) => expected(text) !== undefined)
  expect(accepted.length).toBeGreaterThan(150)
  expect(accepted.length).toBeLessThan(850)
})
