import { describe, expect, test } from 'vitest'
import {
  contentOf,
  createChatHarness,
  INPUT_NANO,
  OUTPUT_NANO,
  parseStream,
  readText,
} from '../../../../support/chat-harness.ts'
import { eventually } from '../../../../support/eventually.ts'
import { chunkFrame, openStreamAnswer, scriptRouter, streamAnswer } from '../../../../support/provider-script.ts'

const PIECES = [chunkFrame({ role: 'assistant', content: '' }), chunkFrame({ content: 'one two three' })]
/** "Hi" and four tokens around the message, and three words. */
const DELIVERED_NANO = 5n * INPUT_NANO + 3n * OUTPUT_NANO

/** A stream that hangs after its pieces, and the revocation of its key. */
function createStream(pieces = PIECES) {
  let revoke = (): void => undefined
  const watchers = new Set<() => void>()
  let upstreamAborted = false
  const credentialWatch = {
    watch: (_: unknown, ended: () => void) => {
      revoke = ended
      watchers.add(ended)
      return () => void watchers.delete(ended)
    },
  }
  const router = scriptRouter(({ signal }) => {
    signal.addEventListener('abort', () => (upstreamAborted = true))
    return openStreamAnswer(pieces, signal)
  })
  const harness = createChatHarness({ router, credentialWatch })
  return {
    harness,
    revoke: () => revoke(),
    get watchers() {
      return watchers.size
    },
    get upstreamAborted() {
      return upstreamAborted
    },
  }
}

describe('a stream whose key becomes inactive', () => {
  test('ends with cost and error, is charged for the delivered part, and cancels the provider', async () => {
    const running = createStream()
    const stream = await running.harness.stream()
    const reading = readText(stream)
    await eventually(() => expect(running.watchers).toBe(1))
    await new Promise(setImmediate)
    running.revoke()
    const chunks = parseStream(await reading)
    expect(contentOf(chunks)).toBe('one two three')
    expect(chunks.slice(-3)).toMatchObject([
      { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 }, cost: { usd: Number(DELIVERED_NANO) / 1e9 } },
      { error: { code: 'key_inactive', type: 'authentication_error', message: expect.stringContaining('revoked') } },
      '[DONE]',
    ])
    expect(running.harness.end).toMatchObject({ kind: 'settled', chargedNanoUsd: DELIVERED_NANO })
    expect(running.harness.usage).toMatchObject({ outcome: 'cut_by_key', estimated: true })
    expect([running.upstreamAborted, running.watchers]).toEqual([true, 0])
  })

  test('is charged though its client does not read', async () => {
    const running = createStream()
    const { frames } = await running.harness.stream()
    const iterator = frames[Symbol.asyncIterator]()
    const delivered = [(await iterator.next()).value, (await iterator.next()).value]
    running.revoke()
    await eventually(() => expect(running.harness.end).toMatchObject({ chargedNanoUsd: DELIVERED_NANO }))
    const last = (await iterator.next()).value as Buffer
    expect(parseStream(Buffer.concat([...(delivered as Buffer[]), last]).toString()).at(-2)).toMatchObject({
      error: { code: 'key_inactive' },
    })
    expect(await iterator.next()).toMatchObject({ done: true })
    expect(running.watchers).toBe(0)
  })

  test('before its first bytes is rejected and costs nothing', async () => {
    const running = createStream([])
    const stream = running.harness.stream()
    await eventually(() => expect(running.harness.metering.records).toHaveLength(1))
    running.revoke()
    await expect(stream).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(running.harness.end).toEqual({ kind: 'released' })
    expect(running.watchers).toBe(0)
  })

  test('is found when its hold grows', async () => {
    const words = Array.from({ length: 600 }, () => chunkFrame({ content: ' word' }))
    const harness = createChatHarness({ router: scriptRouter(() => streamAnswer(words)) })
    harness.metering.extendOutcome = 'key_inactive'
    const chunks = parseStream(await readText(await harness.stream({ max_tokens: 10 })))
    expect(chunks.at(-2)).toMatchObject({ error: { code: 'key_inactive' } })
    expect(harness.usage).toMatchObject({ outcome: 'cut_by_key' })
  })
})

test('a hold that is lost while it grows ends the stream without a charge', async () => {
  const words = Array.from({ length: 600 }, () => chunkFrame({ content: ' word' }))
  const harness = createChatHarness({ router: scriptRouter(() => streamAnswer(words)) })
  harness.metering.extendOutcome = 'lost'
  const chunks = parseStream(await readText(await harness.stream({ max_tokens: 10 })))
  expect(chunks.at(-2)).toMatchObject({ error: { code: 'hold_lost' } })
  expect(harness.end).toEqual({ kind: 'released' })
})

test('a hold that the database leaves undecided is asked for once, and the stream ends with what it covers', async () => {
  const words = Array.from({ length: 600 }, () => chunkFrame({ content: ' word' }))
  const harness = createChatHarness({ router: scriptRouter(() => streamAnswer(words)) })
  harness.metering.extendFailure = new Error('the database is away')
  const chunks = parseStream(await readText(await harness.stream({ max_tokens: 10 })))
  expect(chunks.at(-3)).toMatchObject({ choices: [{ finish_reason: 'length' }] })
  expect(harness.usage).toMatchObject({ outcome: 'cut_by_balance' })
  expect(harness.metering.extensions).toBe(1)
})

test('a stream that ends by itself or whose client disconnects is no longer watched', async () => {
  const running = createStream()
  const stream = await running.harness.stream()
  for await (const _ of stream.frames) break
  expect(running.watchers).toBe(0)
})
