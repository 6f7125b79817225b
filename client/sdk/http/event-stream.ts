/**
 * The data of each event of a `text/event-stream` body (WHATWG HTML 9.2.6), however its bytes are split: lines may end
 * in LF, CR LF or CR, and characters may be split between two chunks. An incomplete event at the end is dropped.
 */
export async function* readEventStream(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let text = ''
  let data: string[] = []
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    // A CR at the end may be half of a line break.
    const lines = text.split(/\r\n|\n|\r(?!$)/)
    text = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      }
    }
  }
  // A body that ends in CR CR ends with an empty line as well.
  if (text === '\r' && data.length > 0) yield data.join('\n')
}

/** The chunks of a body, for platforms whose streams are not iterable. Leaving early cancels it. */
export async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  let ended = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      ended = done
      if (done) return
      yield value
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => {})
    reader.releaseLock()
  }
}
