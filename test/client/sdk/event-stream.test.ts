import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEventStream } from '../../../client/sdk/http/event-stream.ts'

/** The events of a text whose bytes are cut at the given places. */
async function read(text: string, cuts: readonly number[] = []): Promise<string[]> {
  const bytes = new TextEncoder().encode(text)
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  async function* chunks() {
    let from = 0
    for (const to of [...places, bytes.length]) {
      yield bytes.subarray(from, to)
      from = to
    }
  }
  const events: string[] = []
  for await (const event of readEventStream(chunks())) events.push(event)
  return events
}

describe('an event stream', () => {
  test.each([
    ['data: one\n\ndata: two\n\n', ['one', 'two']],
    ['data: one\r\n\r\ndata: two\r\n\r\n', ['one', 'two']],
    ['data: one\r\rdata: two\r\r', ['one', 'two']],
    ['data: one\r\rdata: cut off\r', ['one']],
    ['data: one\ndata: two\n\n', ['one\ntwo']],
    [': ping\n\nevent: x\nid: 7\nretry: 5\ndata:one\n\n', ['one']],
    ['data:  one\n\n', [' one']],
    ['data\n\ndata: one\n\n', ['one']],
    ['\u{feff}data: one\n\n', ['one']],
    ['data: cut off\n', []],
  ])('%j holds %j', async (text, events) => {
    expect(await read(text)).toEqual(events)
  })

  test('reads the same however its bytes are cut', async () => {
    const line = fc.constantFrom('data: ü', 'data: 🎉🎉', 'data:x', ': c', 'id: 1', 'data: {"a":1}')
    const event = fc.array(line, { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 5 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(), { maxLength: 12 }),
        async (events, lineEnd, cuts) => {
          const text = events.map((lines) => [...lines, '', ''].join(lineEnd)).join('')
          expect(await read(text, cuts)).toEqual(await read(text))
        },
      ),
    )
  })
})
