import { describe, expect, test } from 'vitest'
import { createChatHarness, INPUT_NANO, OUTPUT_NANO, readText } from '../../../../support/chat-harness.ts'
import { createEmbeddingHarness } from '../../../../support/embedding-harness.ts'
import {
  answerFrames,
  completion,
  jsonAnswer,
  scriptRouter,
  streamAnswer,
} from '../../../../support/provider-script.ts'

/** A chat template that added 60 tokens, and an answer that exceeds `max_tokens` by the provider's count. */
const ABOVE = { prompt_tokens: 65, completion_tokens: 30, total_tokens: 95 }
const PRICE_NANO = 65n * INPUT_NANO + 30n * OUTPUT_NANO
const body = { max_tokens: 10 }

const json = (usage: unknown) => jsonAnswer(completion({ content: 'one two three' }, usage))
const stream = (usage: unknown) => streamAnswer(answerFrames(['one', ' two'], usage))

describe('a plausible count above the hold', () => {
  test('is charged for a JSON response: the hold is extended', async () => {
    const harness = createChatHarness({ router: scriptRouter(() => json(ABOVE)) })
    const answer = await harness.complete(body)
    expect(harness.metering.records[0]?.admission.holdNanoUsd).toBeLessThan(PRICE_NANO)
    expect(harness.end).toMatchObject({ chargedNanoUsd: PRICE_NANO, usage: { estimated: false } })
    expect(answer.body).toMatchObject({ usage: ABOVE, cost: { usd: Number(PRICE_NANO) / 1e9 } })
  })

  test('is charged for a stream: the hold is extended', async () => {
    const harness = createChatHarness({ router: scriptRouter(() => stream(ABOVE)) })
    await readText(await harness.stream(body))
    expect(harness.end).toMatchObject({ chargedNanoUsd: PRICE_NANO, usage: { estimated: false } })
  })

  test.each(['JSON', 'stream'])('is charged up to the hold if the balance does not cover it: %s', async (form) => {
    const balanceNanoUsd = 23n * INPUT_NANO + 10n * OUTPUT_NANO + 5n
    const router = scriptRouter(() => (form === 'JSON' ? json(ABOVE) : stream(ABOVE)))
    const harness = createChatHarness({ router, balanceNanoUsd })
    if (form === 'JSON') await harness.complete(body)
    else await readText(await harness.stream(body))
    expect(harness.end).toMatchObject({ chargedNanoUsd: balanceNanoUsd - 5n, usage: { estimated: false } })
    expect(harness.metering.balanceNanoUsd).toBe(5n)
  })

  test('is charged for embeddings', async () => {
    const router = scriptRouter(() =>
      jsonAnswer({ data: [{ embedding: [1] }], usage: { prompt_tokens: 500, total_tokens: 500 } }),
    )
    const harness = createEmbeddingHarness({ router })
    const { body: answer } = await harness.embed({})
    expect(answer['usage']).toEqual({ prompt_tokens: 500, total_tokens: 500 })
    expect(harness.metering.records[0]?.end).toMatchObject({ chargedNanoUsd: 10_000n, usage: { estimated: false } })
  })

  test('beyond what the model reads is replaced for embeddings', async () => {
    const router = scriptRouter(() => jsonAnswer({ data: [{ embedding: [1] }], usage: { prompt_tokens: 8_193 } }))
    const harness = createEmbeddingHarness({ router })
    await harness.embed({})
    expect(harness.metering.records[0]?.end).toMatchObject({ chargedNanoUsd: 40n, usage: { estimated: true } })
  })
})

describe('the configuration of a model', () => {
  const holdOf = async (model: object, content: unknown = 'Hi') => {
    const harness = createChatHarness({
      router: scriptRouter(() => json(undefined)),
      model: { capabilities: { supportsVision: true, supportsMultipleImages: true }, ...model },
    })
    return harness.plan({ ...body, messages: [{ role: 'user', content }] })
  }

  test('`promptOverheadTokens` are held once a request, and part of our own count', async () => {
    const [plain, overhead] = [await holdOf({}), await holdOf({ promptOverheadTokens: 100 })]
    expect(overhead.holdNanoUsd - plain.holdNanoUsd).toBe(100n * INPUT_NANO)
    expect(overhead.promptTokens - plain.promptTokens).toBe(100)
  })

  test('`imageTokens` replace the ordinary count of an image', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    const [plain, large] = [await holdOf({}, [image, image]), await holdOf({ imageTokens: 16_000 }, [image, image])]
    expect(plain.promptTokens).toBe(4 + 2 * 1_600)
    expect(large.promptTokens).toBe(4 + 2 * 16_000)
    expect(large.holdNanoUsd).toBeGreaterThanOrEqual(32_000n * INPUT_NANO)
  })
})
