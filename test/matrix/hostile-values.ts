import fc from 'fast-check'
import { z } from 'zod'

const nest = (depth: number, wrap: (inner: unknown) => unknown): unknown =>
  depth === 0 ? 'x' : wrap(nest(depth - 1, wrap))

/** What a field may get from a broken or malicious client, by a name for reports. */
const KNOWN: [name: string, value: unknown][] = [
  ['null', null],
  ['true', true],
  ['zero', 0],
  ['minus one', -1],
  ['a fraction', 1.5],
  ['beyond 2^31', 2 ** 31],
  ['beyond 2^53', 2 ** 53 + 2],
  ['1e308', 1e308],
  ['nothing', ''],
  ['a blank', ' '],
  ['a line break', 'a\r\nSet-Cookie: b=c'],
  ['NUL', 'a\u0000b'],
  ['control characters', '\u001B[31m\u0007\u007F\u0085'],
  ['half a surrogate pair', 'a\uD800b'],
  ['the other half', '\uDFFF'],
  ['text from right to left', '\u202Egnp.exe'],
  ['a long text', 'x'.repeat(12_000)],
  ['a quote', `'; -- " \\ $1`],
  ['a pattern', '%_\\%'],
  ['a path', '../../../../etc/passwd'],
  ['a template', '${7*7}{{7*7}}'],
  ['year 9999', '9999-12-31T23:59:59Z'],
  ['year 10000', '+010000-01-01T00:00:00Z'],
  ['year zero', '0000-01-01'],
  ['a day that is none', '2026-02-30'],
  ['not a number', 'NaN'],
  ['infinity', '-Infinity'],
  ['an exponent', '1e999999999'],
  ['a thousand digits', '9'.repeat(1_000)],
  ['ten decimals', '0.0000000001'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['no uuid', '018f0000-0000-7000-8000-00000000000g'],
  ['an empty list', []],
  ['a list', ['x']],
  ['a list of lists', [[['x']]]],
  ['a list of null', [null]],
  ['a thousand items', Array.from({ length: 1_000 }, () => 'x')],
  ['an empty object', {}],
  ['an object', { x: 1 }],
  ['an own __proto__', JSON.parse('{"__proto__": {"polluted": true}}')],
  ['an own constructor', { constructor: { prototype: { polluted: true } } }],
  ['lists nested 500 deep', nest(500, (inner) => [inner])],
  ['objects nested 500 deep', nest(500, (inner) => ({ x: inner }))],
]

/** The known ones, and some that nobody thought of. */
export const HOSTILE: readonly [name: string, value: unknown][] = [
  ...KNOWN,
  ...fc
    .sample(fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }), { numRuns: 15, seed: 20_261_121 })
    .map((value): [string, unknown] => [`random ${JSON.stringify(value)}`, value]),
]

/** The same for a place that holds only text. */
export const HOSTILE_TEXTS: readonly [name: string, value: string][] = HOSTILE.filter(
  (entry): entry is [string, string] => typeof entry[1] === 'string',
)

/** What no answer may hold: insides of the process, of its database, of its machine. */
const INSIDES =
  /node_modules|\.[jt]s:\d|\bat [\w.]+ \(|\bselect\b.+\bfrom\b|\binsert into\b|\brelation "|violates|syntax error at|invalid byte|invalid input syntax|out of range for type|postgres|kysely|pglite|ECONN|ENOENT|127\.0\.0\.1:\d|upstream-secret|TypeError|RangeError|URIError|Cannot read prop/i

/** What is wrong with an answer that refuses input; undefined: nothing. */
export function complaint(status: number, text: string): string | undefined {
  if (status < 400) return undefined
  if (status >= 500) return `status ${status}: ${text.slice(0, 300)}`
  const inside = INSIDES.exec(text)
  return inside === null ? undefined : `the answer says ${JSON.stringify(inside[0])}: ${text.slice(0, 300)}`
}

type JsonSchema = { properties?: Record<string, JsonSchema>; anyOf?: JsonSchema[]; items?: JsonSchema }

/** The fields of an input down to some level, each as the names on its way. */
export function fieldsOf(schema: z.ZodType, levels = 3): string[][] {
  const plain = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })
  return walk(plain as JsonSchema, levels)
}

function walk({ properties = {}, anyOf = [] }: JsonSchema, levels: number): string[][] {
  if (levels === 0) return []
  const own = Object.entries(properties).flatMap(([name, inner]) => [
    [name],
    ...walk(inner, levels - 1).map((below) => [name, ...below]),
  ])
  return [...own, ...anyOf.flatMap((alternative) => walk(alternative, levels))]
}

/** A copy of an input with one field replaced, or added. */
export function withField(input: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  const record = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  return { ...record, [name]: withField(record[name], rest, value) }
}
