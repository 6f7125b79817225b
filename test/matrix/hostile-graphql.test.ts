import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isRequiredInputField,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../schema/index.ts'
import type { Json } from '../support/event-stream.ts'
import { callGraphql, type GraphqlCall } from './graphql-call.ts'
import { globalId } from './graphql-lines.ts'
import { complaint, HOSTILE, withField } from './hostile-values.ts'
import { type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(async () => {
  await scene.server.assertLedgerClean()
  await scene[Symbol.asyncDispose]()
})

interface Place {
  name: string
  kind: 'query' | 'mutation' | 'subscription'
  /** What stands around the field in an operation. */
  around: (field: string) => string
  field: GraphQLField<unknown, unknown>
}

const inRoot = (field: string) => `{ ${field} }`
const inViewer = (field: string) => `{ viewer { ${field} } }`

function placesOf(
  type: { name: string; getFields: () => object } | null | undefined,
  rest: Omit<Place, 'name' | 'field'>,
) {
  const fields: GraphQLField<unknown, unknown>[] = Object.values(type?.getFields() ?? {})
  return fields
    .filter(({ args }) => args.length > 0)
    .map((field): Place => ({ ...rest, name: `${type?.name}.${field.name}`, field }))
}

const account = schema.getType('Account')

/** Every field that takes arguments from a caller. */
const PLACES: Place[] = [
  ...placesOf(schema.getQueryType(), { kind: 'query', around: inRoot }),
  ...placesOf(schema.getMutationType(), { kind: 'mutation', around: inRoot }),
  ...placesOf(schema.getSubscriptionType(), { kind: 'subscription', around: inRoot }),
  ...placesOf(account !== undefined && 'getFields' in account ? account : null, { kind: 'query', around: inViewer }),
]

/** Inputs in which a wrong field would not be noticed unless the others are right. */
const VALID_INPUTS: Record<string, unknown> = {
  ChatQuoteInput: { model: 'test-model', promptTokens: 1 },
  ImageQuoteInput: { model: 'test-image' },
  RpcQuoteInput: { network: 'ethereum-mainnet', body: '{"method":"eth_chainId"}' },
  RotateApiKeyInput: { id: globalId('ApiKey', '018f0000-0000-7000-8000-000000000099') },
  UpdateApiKeyInput: { id: globalId('ApiKey', '018f0000-0000-7000-8000-000000000099') },
}

/** A value that a type takes, with no more in it than it must have. */
function sampleOf(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return sampleOf(type.ofType)
  if (isListType(type)) return []
  if (isEnumType(type)) return type.getValues()[0]?.name
  if (!isInputObjectType(type)) return type.name === 'Int' ? 1 : 'x'
  if (type.name in VALID_INPUTS) return VALID_INPUTS[type.name]
  const required = Object.values(type.getFields()).filter(isRequiredInputField)
  return Object.fromEntries(required.map((field) => [field.name, sampleOf(field.type)]))
}

/** Every input below an argument, with a whole value in which only it is to be replaced. */
function inputsOf(type: GraphQLInputType, path: string[], depth = 0): { path: string[]; base: unknown }[] {
  const bare = isNonNullType(type) ? type.ofType : type
  const own = { path, base: sampleOf(type) }
  const named = getNamedType(type)
  if (!isInputObjectType(named) || depth === 3) return [own]
  const start = named.isOneOf ? {} : (sampleOf(named) as object)
  const below = Object.values(named.getFields()).flatMap((field) =>
    inputsOf(field.type, [...path, field.name], depth + 1).map((inner) => {
      const base = inner.path.length === path.length + 1 ? start : { ...start, [field.name]: inner.base }
      return { ...inner, base: isListType(bare) ? [base] : base }
    }),
  )
  return [own, ...below]
}

const send = (call: GraphqlCall) => callGraphql(scene, call, { credential: 'admin' })

/** Every error has a code that is not of our own failure. */
function faultOf({ status, text }: { status: number; text: string }): string | undefined {
  const fault = complaint(status, text)
  if (fault !== undefined) return fault
  const { errors = [] } = JSON.parse(text)
  const codes: unknown[] = errors.map((error: Json) => error.extensions?.code)
  const isCoded = codes.every((code) => typeof code === 'string' && code !== 'INTERNAL_SERVER_ERROR')
  return isCoded ? undefined : text.slice(0, 300)
}

/** What the errors and refusals of an answer are about. */
function isNamed(text: string, names: readonly string[]): boolean {
  const { errors = [] } = JSON.parse(text)
  const about: Json[] = errors.filter((error: Json) => error.extensions?.code === 'BAD_USER_INPUT')
  const said = about.map((error) => JSON.stringify([error.message, error.extensions]))
  // Of an opaque id, and of a text that holds JSON, this says which value is meant.
  const known = [...names, 'Invalid global ID', 'Invalid JSON']
  return said.length === 0 || said.some((text) => known.some((name) => text.includes(name)))
}

describe.each(PLACES)('$name', ({ kind, around, field }) => {
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'

  test.each(field.args.map((argument) => ({ argument, name: argument.name })))(
    'rejects invalid values in $name by code and by name',
    async ({ argument }) => {
      const others = field.args.filter((other) => other !== argument && isRequiredInputField(other))
      const declared = [argument, ...others].map(({ name, type }) => `$${name}: ${String(type)}`).join(', ')
      const passed = [argument, ...others].map(({ name }) => `${name}: $${name}`).join(', ')
      const query = `${kind} (${declared}) ${around(`${field.name}(${passed})${selection}`)}`
      const rest = Object.fromEntries(others.map(({ name, type }) => [name, sampleOf(type)]))
      for (const { path, base } of inputsOf(argument.type, [])) {
        const faults = HOSTILE.map(async ([what, value]) => {
          const answer = await send({ query, variables: { ...rest, [argument.name]: replaced(base, path, value) } })
          const fault = faultOf(answer) ?? (isNamed(answer.text, [argument.name, ...path]) ? undefined : answer.text)
          return fault === undefined ? [] : [[path.join('.'), what, fault]]
        })
        expect((await Promise.all(faults)).flat()).toEqual([])
      }
    },
  )

  test('rejects the same as literals', async () => {
    const faults: unknown[] = []
    for (const argument of field.args) {
      for (const [what, value] of HOSTILE) {
        const query = `${kind} ${around(`${field.name}(${argument.name}: ${literal(value)})${selection}`)}`
        const fault = faultOf(await send({ query }))
        if (fault !== undefined) faults.push([argument.name, what, fault])
      }
    }
    expect(faults).toEqual([])
  })
})

/** A list of inputs has the place in its first item. */
function replaced(base: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value
  return Array.isArray(base) ? [withField(base[0], path, value)] : withField(base, path, value)
}

/** JSON as GraphQL writes it: names without quotes. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(' ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, inner]) => `_${name.replaceAll(/\W/g, '_')}: ${literal(inner)}`)
  return `{${fields.join()}}`
}
