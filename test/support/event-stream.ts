import { createParser } from 'eventsource-parser'

/** Parsed JSON of whatever form; the test that reads it knows. */
export type Json = ReturnType<typeof JSON.parse>

export interface StreamEvent {
  event: string
  data: Json
}

/** Reads a response of server-sent events one by one; comments are skipped. */
export async function* readEventStream(response: Response): AsyncGenerator<StreamEvent, void> {
  const events: StreamEvent[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', data }) => events.push({ event, data: data === '' ? null : JSON.parse(data) }),
  })
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    yield* events.splice(0)
  }
}
