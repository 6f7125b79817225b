import { describe, expect, test } from 'vitest'
import { ServiceParameterReader } from '../../../../../../server/domain/inference/chat/plan/service-parameters.ts'
import { createChatHarness } from '../../../../../support/chat-harness.ts'
import { completion, jsonAnswer, scriptRouter } from '../../../../../support/provider-script.ts'

const reader = new ServiceParameterReader('acme')
const read = (parameters: unknown, suffix: Record<string, string> = {}) =>
  reader.read({ acme_parameters: parameters }, suffix)

describe('accepted', () => {
  test.each([
    [undefined],
    [null],
    [{}],
    [{ enable_web_search: 'off' }],
    [{ enable_web_search: false }],
    [{ enable_web_search: null, character_slug: null }],
    [{ enable_web_scraping: false, enable_x_search: false, character_slug: '' }],
    [{ enable_web_citations: true, include_search_results_in_stream: true, return_search_results_as_documents: true }],
    [{ enable_e2ee: false }],
    [{ unknown_key: 1 }],
  ])('%j', (parameters) => {
    expect(read(parameters).echo).toMatchObject({ enable_web_search: 'off', web_search_citations: [] })
  })
})

describe('rejected naming the parameter', () => {
  test.each([
    [{ enable_web_search: 'on' }, 'enable_web_search', /no web search/],
    [{ enable_web_search: 'auto' }, 'enable_web_search', /no web search/],
    [{ enable_web_search: true }, 'enable_web_search', /no web search/],
    [{ enable_web_search: 'maybe' }, 'enable_web_search', /"off", "on" or "auto"/],
    [{ enable_web_scraping: true }, 'enable_web_scraping', /no web scraping/],
    [{ enable_x_search: true }, 'enable_x_search', /no X search/],
    [{ character_slug: 'alan-watts' }, 'character_slug', /no characters/],
    [{ strip_thinking_response: 'yes' }, 'strip_thinking_response', /must be true or false/],
    [{ include_acme_system_prompt: 1 }, 'include_acme_system_prompt', /must be true or false/],
  ])('%j', (parameters, name, message) => {
    expect(() => read(parameters)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        field: `acme_parameters.${name}`,
        message: expect.stringMatching(message),
        details: expect.objectContaining({
          acme_parameters: expect.objectContaining({ [name]: { _errors: [expect.any(String)] } }),
        }),
      }),
    )
  })

  test.each(['text', [], 5])('an object that is %j', (parameters) => {
    expect(() => read(parameters)).toThrow(expect.objectContaining({ field: 'acme_parameters' }))
  })

  test('the shorthand web_search', () => {
    expect(() => reader.read({ web_search: true }, {})).toThrow(/enable_web_search/)
    expect(reader.read({ web_search: false }, {}).echo).toMatchObject({ enable_web_search: 'off' })
  })
})

test('the suffix overrides the object, with booleans as words', () => {
  const read1 = read(
    { strip_thinking_response: true, disable_thinking: false },
    { strip_thinking_response: 'false', disable_thinking: 'true' },
  )
  expect(read1).toMatchObject({ disableThinking: true, stripThinking: true })
  expect(read1.echo).toMatchObject({ strip_thinking_response: false, disable_thinking: true })
})

test('a switched-on parameter in a model suffix is rejected by its name', async () => {
  const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(completion({ content: 'x' }))) })
  await expect(harness.plan({ model: 'm:enable_web_search=on' })).rejects.toMatchObject({
    code: 'invalid_request',
    field: 'service_parameters.enable_web_search',
  })
  await expect(harness.plan({ model: 'm:strip_thinking_response=true' })).resolves.toMatchObject({
    parameters: { stripThinking: true },
    resolved: { model: { id: 'm' } },
  })
})
