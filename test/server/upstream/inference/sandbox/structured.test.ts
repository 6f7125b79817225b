import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sampleSchema } from '../../../../../server/upstream/inference/sandbox/schema-sample.ts'
import { chat, stream, user } from './sandbox-client.ts'

const Node: z.ZodType = z.lazy(() => z.object({ name: z.string(), children: z.array(Node), parent: Node.nullable() }))

describe('schema samples conform', () => {
  test.each<[string, z.ZodType]>([
    ['flat object', z.object({ a: z.string(), b: z.number(), c: z.boolean(), d: z.null() })],
    ['optional fields', z.strictObject({ a: z.string().optional(), b: z.int() })],
    ['nesting', z.object({ a: z.object({ b: z.array(z.object({ c: z.enum(['x', 'y']) })) }) })],
    ['literals and unions', z.object({ kind: z.literal('k'), value: z.union([z.int().min(7), z.string()]) })],
    [
      'discriminated union',
      z.discriminatedUnion('t', [z.object({ t: z.literal(1), a: z.string() }), z.object({ t: z.literal(2) })]),
    ],
    ['intersection', z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() }))],
    ['nullable', z.object({ a: z.string().nullable() })],
    ['minimum', z.number().min(3.5)],
    ['exclusive minimum', z.int().gt(4)],
    ['narrow interval', z.number().gt(0).lt(1)],
    ['negative maximum', z.int().max(-3)],
    ['multiple of', z.int().min(10).multipleOf(7)],
    ['length', z.string().min(30).max(40)],
    ['short length', z.string().max(3)],
    ['array length', z.array(z.int()).min(3).max(5)],
    ['empty array', z.array(z.int()).max(0)],
    ['tuple', z.tuple([z.string(), z.int(), z.boolean()])],
    ['formats', z.object({ a: z.email(), b: z.uuid(), c: z.iso.datetime(), d: z.url(), e: z.iso.date(), f: z.ipv4() })],
    ['recursion', Node],
    ['record', z.record(z.string(), z.int())],
  ])('%s', (_name, schema) => {
    expect(() => schema.parse(sampleSchema(z.toJSONSchema(schema)))).not.toThrow()
  })

  test('for local references, and for endless references', () => {
    const $defs = { point: { type: 'object', properties: { x: { type: 'integer', minimum: 5 } }, required: ['x'] } }
    const both = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/point' }, b: { $ref: '#/$defs/point' } },
      required: ['a', 'b'],
    }
    expect(sampleSchema({ $defs, ...both })).toEqual({ a: { x: 5 }, b: { x: 5 } })
    expect(sampleSchema({ $ref: '#' })).toBeNull()
    expect(sampleSchema({ $ref: 'https://example.com/schema' })).toBe('[sandbox]')
  })

  test('for a schema that doubles at each of 40 levels, in bounded work', () => {
    const levels = Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/l${level + 1}` }
      return [`l${level}`, { type: 'object', properties: { a: next, b: next }, required: ['a', 'b'] }]
    })
    expect(sampleSchema({ $defs: Object.fromEntries(levels), $ref: '#/$defs/l0' })).toBeNull()
  })

  test.each([
    [undefined],
    [null],
    [true],
    [[]],
    ['text'],
    [{ type: 7 }],
    [{ type: 'array', minItems: 1e9 }],
    [{ multipleOf: 0, type: 'number' }],
  ])('as any JSON for nonsense %j', (schema) => {
    expect(JSON.parse(JSON.stringify(sampleSchema(schema)))).toBeDefined()
  })
})

describe('response_format', () => {
  const schema = z.toJSONSchema(z.object({ answer: z.enum(['yes', 'no']), score: z.int().min(1) }))

  test.each([
    ['in json_schema.schema', { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } }],
    ['straight under json_schema', { type: 'json_schema', json_schema: schema }],
  ])('schema %s', async (_name, format) => {
    const { message } = await chat({ messages: user('hi'), response_format: format })
    expect(JSON.parse(message.content ?? '')).toEqual({ answer: 'yes', score: 1 })
  })

  test('json_object gives a labelled object', async () => {
    const { message } = await chat({ messages: user('hi'), response_format: { type: 'json_object' } })
    expect(JSON.parse(message.content ?? '')).toMatchObject({ sandbox: true })
  })
})

describe('tools', () => {
  const parameters = z.toJSONSchema(z.object({ city: z.string(), days: z.int().min(1).max(7) }))
  const tools = ['get_weather', 'get_time'].map((name) => ({ type: 'function', function: { name, parameters } }))
  const names = (answer: Awaited<ReturnType<typeof chat>>) =>
    answer.message.tool_calls?.map((call) => call.function.name)

  test('required calls the first, with arguments of its schema', async () => {
    const answer = await chat({ messages: user('hi'), tools, tool_choice: 'required' })
    expect(names(answer)).toEqual(['get_weather'])
    expect(answer.choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
    expect(JSON.parse(answer.message.tool_calls?.[0]?.function.arguments ?? '')).toEqual({ city: '[sandbox]', days: 1 })
  })

  test('a named tool is called', async () => {
    const choice = { type: 'function', function: { name: 'get_time' } }
    expect(names(await chat({ messages: user('hi'), tools, tool_choice: choice }))).toEqual(['get_time'])
  })

  test('tools that the question names are called, one only without parallel calls', async () => {
    const messages = user('use get_time and get_weather')
    expect(names(await chat({ messages, tools }))).toEqual(['get_weather', 'get_time'])
    expect(names(await chat({ messages, tools, parallel_tool_calls: false }))).toEqual(['get_weather'])
  })

  test('are not called if none is requested, or tool_choice is none', async () => {
    expect(names(await chat({ messages: user('hi'), tools }))).toBeUndefined()
    expect(names(await chat({ messages: user('get_time'), tools, tool_choice: 'none' }))).toBeUndefined()
  })

  test('a tool result gets a text, so agent loops end', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'get_time', arguments: '{}' } }
    const messages = [
      ...user('get_time please'),
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'half past nine' },
    ]
    const { message } = await chat({ messages, tools, tool_choice: 'required' })
    expect(message.content).toBe('[sandbox] The tool answered: half past nine')
  })

  test('streamed calls come in pieces that join to the same call', async () => {
    const body = { messages: user('hi'), tools, tool_choice: 'required' }
    const deltas = (await stream(body)).flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []))
    const whole = (await chat(body)).message.tool_calls?.[0]
    expect(deltas[0]).toMatchObject({ index: 0, id: whole?.id, type: 'function', function: { name: 'get_weather' } })
    expect(deltas.length).toBeGreaterThan(3)
    expect(deltas.map((delta) => delta.function.arguments).join('')).toBe(whole?.function.arguments)
  })

  test('arguments cut by max_tokens end with length', async () => {
    const { choice, usage } = await chat({ messages: user('hi'), tools, tool_choice: 'required', max_tokens: 3 })
    expect(choice.finish_reason).toBe('length')
    expect(usage?.completion_tokens).toBe(3)
  })
})
