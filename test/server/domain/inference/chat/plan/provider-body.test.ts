import { describe, expect, test } from 'vitest'
import { createChatHarness } from '../../../../../support/chat-harness.ts'
import { completion, jsonAnswer, scriptRouter } from '../../../../../support/provider-script.ts'

const CAPABLE = { supportsFunctionCalling: true, supportsResponseSchema: true, supportsReasoning: true }
const router = scriptRouter(() => jsonAnswer(completion({ content: 'x' })))

async function bodyFor(body: object, options: { effort?: boolean; prompts?: string[] } = {}) {
  const capabilities = { ...CAPABLE, supportsReasoningEffort: options.effort ?? false }
  const harness = createChatHarness({ router, model: { capabilities }, systemPrompts: options.prompts ?? [] })
  return (await harness.plan(body)).body
}

test('the request passes as it came, without our own fields', async () => {
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' }, odd: 1 }] },
  ]
  const passing = {
    messages,
    temperature: 0.5,
    seed: 7,
    prompt_cache_key: 'k',
    user: 'u',
    top_k: 3,
    odd: { deep: [1] },
  }
  const own = { service_parameters: {}, fallbacks: [{ model: 'm' }], web_search: false, stream_options: {} }
  expect(await bodyFor({ ...passing, ...own })).toEqual(passing)
})

describe('the completion limit', () => {
  test.each([
    [{ max_tokens: 5 }, { max_tokens: 5 }],
    [
      { max_tokens: 900, max_completion_tokens: 5 },
      { max_tokens: 5, max_completion_tokens: 5 },
    ],
    [{ max_tokens: 0 }, {}],
    [
      { max_tokens: -1, max_completion_tokens: 7 },
      { max_tokens: 7, max_completion_tokens: 7 },
    ],
  ])('%j becomes %j, so that no field lets through more than was admitted', async (given, expected) => {
    const { max_tokens, max_completion_tokens } = await bodyFor(given)
    expect({ max_tokens, max_completion_tokens }).toEqual({
      max_tokens: undefined,
      max_completion_tokens: undefined,
      ...expected,
    })
  })
})

describe('system prompts', () => {
  const user = { role: 'user', content: 'x' }
  const prompts = ['Be brief.', 'Be kind.']
  test.each([
    ['none of the caller', [user], [{ role: 'system', content: 'Be brief.\n\nBe kind.' }, user]],
    [
      'text',
      [{ role: 'system', content: 'Mine.' }, user],
      [{ role: 'system', content: 'Be brief.\n\nBe kind.\n\nMine.' }, user],
    ],
    [
      'parts',
      [{ role: 'system', content: [{ type: 'text', text: 'Mine.' }] }, user],
      [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Be brief.\n\nBe kind.' },
            { type: 'text', text: 'Mine.' },
          ],
        },
        user,
      ],
    ],
  ])("come before the caller's: %s", async (_, messages, expected) => {
    expect((await bodyFor({ messages }, { prompts })).messages).toEqual(expected)
  })

  test('stay away where the caller does not want them', async () => {
    const body = { messages: [user], service_parameters: { include_service_system_prompt: false } }
    expect((await bodyFor(body, { prompts })).messages).toEqual([user])
  })
})

describe('thinking', () => {
  test('is switched off by effort where the model knows it, by its template otherwise', async () => {
    const body = { service_parameters: { disable_thinking: true }, chat_template_kwargs: { tools: 1 } }
    expect(await bodyFor(body, { effort: true })).toMatchObject({
      reasoning_effort: 'none',
      chat_template_kwargs: { tools: 1 },
    })
    expect(await bodyFor(body)).toMatchObject({ chat_template_kwargs: { tools: 1, enable_thinking: false } })
    expect(await bodyFor({ reasoning: { enabled: false } })).toMatchObject({
      chat_template_kwargs: { enable_thinking: false },
    })
  })

  test.each([
    [{ reasoning: { effort: 'low', summary: 'auto' } }, { reasoning_effort: 'low' }],
    [{ reasoning: { effort: 'low' }, reasoning_effort: 'high' }, { reasoning_effort: 'high' }],
    [
      { reasoning: { effort: 'low', max_tokens: 5 } },
      { reasoning_effort: 'low', reasoning: { effort: 'low', max_tokens: 5 } },
    ],
  ])('%j is sent as %j', async (given, expected) => {
    const { reasoning, reasoning_effort } = await bodyFor(given)
    expect({ reasoning, reasoning_effort }).toEqual({ reasoning: undefined, ...expected })
  })
})

describe('forms that providers reject are straightened', () => {
  const schema = { type: 'object', properties: {} }
  test.each([
    [{ tools: [] }, { tools: undefined }],
    [{ tool_choice: { type: 'auto' } }, { tool_choice: 'auto' }],
    [
      { response_format: { type: 'json_schema', json_schema: schema } },
      { response_format: { type: 'json_schema', json_schema: { name: 'response', schema } } },
    ],
    [
      { tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema, strict: true }] },
      { tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema, strict: true } }] },
    ],
    [
      { tools: [{ name: 'f', description: 'd', input_schema: schema, cache_control: { type: 'ephemeral' } }] },
      {
        tools: [
          {
            cache_control: { type: 'ephemeral' },
            type: 'function',
            function: { name: 'f', description: 'd', parameters: schema },
          },
        ],
      },
    ],
    [{ tools: [{ type: 'custom', name: 'grammar' }] }, { tools: [{ type: 'custom', name: 'grammar' }] }],
    [{ tool_choice: { type: 'function', name: 'f' } }, { tool_choice: { type: 'function', function: { name: 'f' } } }],
    [{ tool_choice: { type: 'tool', name: 'f' } }, { tool_choice: { type: 'function', function: { name: 'f' } } }],
    [{ tool_choice: { type: 'any' } }, { tool_choice: 'required' }],
    [
      { tool_choice: { type: 'function', function: { name: 'f' } } },
      { tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    [{ max_output_tokens: 9 }, { max_tokens: 9, max_output_tokens: undefined }],
  ])('%j', async (given, expected) => {
    const body = await bodyFor(given)
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, body[name]]))).toEqual(expected)
  })

  test('an empty turn of the assistant is left out', async () => {
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'y' },
    ]
    expect((await bodyFor({ messages })).messages).toHaveLength(2)
  })
})
