import { z } from 'zod'

const MAX_NODES = 5_000
const MAX_ITEMS = 100
const MAX_TEXT_CHARACTERS = 1_000
const LABEL = '[sandbox]'

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
type Schema = Record<string, unknown>

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2000-01-01T00:00:00Z',
  date: '2000-01-01',
  time: '00:00:00Z',
  duration: 'PT1S',
  email: 'sandbox@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

interface Walk {
  root: Schema
  /** References that are being followed; a repeated one means that the schema recurses. */
  path: readonly string[]
  /** Shared by the whole walk, so a small schema cannot request a huge value. */
  budget: { nodes: number }
  /** Position in an array, so items differ if they can. */
  index: number
}

/** A small value that conforms to a JSON schema; `pattern` is the only important keyword that is ignored. */
export function sampleSchema(schema: unknown): Json {
  const root = isSchema(schema) ? schema : {}
  return sample(root, { root, path: [], budget: { nodes: MAX_NODES }, index: 0 }) ?? null
}

/** Undefined if the schema recurses without end. */
function sample(schema: Schema, walk: Walk): Json | undefined {
  walk.budget.nodes -= 1
  if (walk.budget.nodes < 0) return undefined
  if ('const' in schema) return asJson(schema['const'])
  const values = schema['enum']
  if (Array.isArray(values) && values.length > 0) return asJson(values[walk.index % values.length])
  if (typeof schema['$ref'] === 'string') return sampleReference(schema['$ref'], schema, walk)
  const alternatives = schemasIn(schema['anyOf']).concat(schemasIn(schema['oneOf']))
  if (alternatives.length > 0) return sampleFirst(alternatives, schema, walk)
  const parts = schemasIn(schema['allOf'])
  if (parts.length > 0) return sample(mergeAll({ ...schema, allOf: undefined }, parts, walk), walk)
  return sampleType(typeOf(schema), schema, walk)
}

function sampleReference(reference: string, schema: Schema, walk: Walk): Json | undefined {
  if (walk.path.includes(reference)) return undefined
  const target = resolve(reference, walk.root)
  if (target === undefined) return LABEL
  return sample(merge({ ...schema, $ref: undefined }, target), { ...walk, path: [...walk.path, reference] })
}

function sampleFirst(alternatives: Schema[], schema: Schema, walk: Walk): Json | undefined {
  const rest = { ...schema, anyOf: undefined, oneOf: undefined }
  for (const alternative of alternatives) {
    const value = sample(merge(rest, alternative), walk)
    if (value !== undefined) return value
  }
  return undefined
}

function sampleType(type: string, schema: Schema, walk: Walk): Json | undefined {
  switch (type) {
    case 'object':
      return sampleObject(schema, walk)
    case 'array':
      return sampleArray(schema, walk)
    case 'integer':
    case 'number':
      return sampleNumber(schema, type === 'integer', walk.index)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return sampleString(schema, walk.index)
  }
}

function sampleObject(schema: Schema, walk: Walk): Json | undefined {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required = (Array.isArray(schema['required']) ? schema['required'] : []).filter(
    (name) => typeof name === 'string',
  )
  const optional = Object.keys(properties).filter((name) => !required.includes(name))
  const missing = Math.max(0, (asNumber(schema['minProperties']) ?? 0) - required.length)
  const object: Record<string, Json> = {}
  for (const name of [...required, ...optional.slice(0, missing)]) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    const value = sample(isSchema(property) ? property : {}, { ...walk, index: 0 })
    if (value === undefined) return undefined
    // Defined rather than assigned, so a property named __proto__ behaves like any other.
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return object
}

function sampleArray(schema: Schema, walk: Walk): Json | undefined {
  const fixed = schemasIn(schema['prefixItems'])
  const least = asNumber(schema['minItems']) ?? 0
  const wanted = Math.min(Math.max(least, fixed.length, 1), asNumber(schema['maxItems']) ?? MAX_ITEMS, MAX_ITEMS)
  const items: Json[] = []
  for (let index = 0; index < wanted; index += 1) {
    const item = fixed[index] ?? schema['items']
    const value = sample(isSchema(item) ? item : {}, { ...walk, index })
    if (value === undefined) return items.length >= least ? items : undefined
    items.push(value)
  }
  return items
}

function sampleNumber(schema: Schema, whole: boolean, index: number): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const unit = asNumber(multipleOf) || 1
  const above = asNumber(exclusiveMinimum)
  const below = asNumber(exclusiveMaximum)
  const lower = Math.max(asNumber(minimum) ?? -Infinity, above ?? -Infinity)
  const upper = Math.min(asNumber(maximum) ?? Infinity, below ?? Infinity)
  let value = lower === -Infinity ? Math.min(0, Math.floor(upper / unit) * unit) : Math.ceil(lower / unit) * unit
  if (value === above || value === below) value += value === above ? unit : -unit
  value += index * unit
  if (value > upper || value === below) value = whole ? Math.floor(upper) : (lower + upper) / 2
  return value
}

function sampleString(schema: Schema, index: number): string {
  const format = schema['format']
  if (typeof format === 'string' && FORMATS[format] !== undefined) return FORMATS[format]
  const least = Math.min(asNumber(schema['minLength']) ?? 0, MAX_TEXT_CHARACTERS)
  const text = index === 0 ? LABEL : `${index} ${LABEL}`
  return text.padEnd(least, '.').slice(0, asNumber(schema['maxLength']) ?? MAX_TEXT_CHARACTERS)
}

function typeOf(schema: Schema): string {
  const { type } = schema
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return String(type.find((name) => name !== 'null') ?? 'null')
  if ('properties' in schema || 'required' in schema) return 'object'
  return 'items' in schema || 'prefixItems' in schema ? 'array' : 'string'
}

function mergeAll(schema: Schema, parts: Schema[], walk: Walk): Schema {
  return parts.reduce<Schema>((merged, part) => {
    const target = typeof part['$ref'] === 'string' ? resolve(part['$ref'], walk.root) : undefined
    return merge(merged, target ?? part)
  }, schema)
}

/** Merges two schemas: properties and required names add up, other keywords of the second win. */
function merge(first: Schema, second: Schema): Schema {
  const merged: Schema = { ...first, ...second }
  if (isSchema(first['properties']) && isSchema(second['properties'])) {
    merged['properties'] = { ...first['properties'], ...second['properties'] }
  }
  if (Array.isArray(first['required']) && Array.isArray(second['required'])) {
    merged['required'] = [...new Set([...first['required'], ...second['required']])]
  }
  for (const keyword of ['$ref', 'anyOf', 'oneOf', 'allOf']) if (merged[keyword] === undefined) delete merged[keyword]
  return merged
}

function resolve(reference: string, root: Schema): Schema | undefined {
  if (!reference.startsWith('#')) return undefined
  let node: unknown = root
  for (const step of reference
    .slice(1)
    .split('/')
    .filter((part) => part !== '')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    node = typeof node === 'object' && node !== null && Object.hasOwn(node, name) ? Reflect.get(node, name) : undefined
  }
  return isSchema(node) ? node : undefined
}

function schemasIn(value: unknown): Schema[] {
  return Array.isArray(value) ? value.filter(isSchema) : []
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function asJson(value: unknown): Json {
  return z.json().catch(null).parse(value)
}
