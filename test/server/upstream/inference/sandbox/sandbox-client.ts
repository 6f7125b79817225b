import { createSandboxProvider } from '../../../../../server/upstream/inference/sandbox/sandbox-provider.ts'
import { readText } from '../../../../support/drain.ts'
import { ChatChunk, ChatCompletion } from './wire-shapes.ts'

const provider = createSandboxProvider({ id: 'sandbox' })

export const user = (content: string) => [{ role: 'user', content }]

export function send(body: Record<string, unknown>, signal = new AbortController().signal) {
  return ask('chat', { model: 'sandbox-chat', ...body }, signal)
}

export function sendEmbeddings(body: Record<string, unknown>) {
  return ask('embeddings', { model: 'sandbox-embedding', ...body }, new AbortController().signal)
}

function ask(operation: 'chat' | 'embeddings', { model, ...value }: Record<string, unknown>, signal: AbortSignal) {
  const accepts = value['stream'] === true ? 'events' : 'json'
  return provider.send({ operation, model: String(model), body: { kind: 'json', value }, accepts, signal })
}

/** A JSON answer, checked against OpenAI's shape. */
export async function chat(body: Record<string, unknown>) {
  const response = await send(body)
  const answer = ChatCompletion.parse(JSON.parse(await readText(response.body)))
  const [choice] = answer.choices
  if (choice === undefined) throw new Error('no choice')
  return { ...answer, choice, message: choice.message }
}

/** The data of each server-sent event, `[DONE]` included. */
export async function streamData(body: Record<string, unknown>): Promise<string[]> {
  const response = await send({ ...body, stream: true })
  const events = (await readText(response.body)).split('\n\n')
  if (events.pop() !== '') throw new Error('the last event is not ended by an empty line')
  return events.map((event) => event.replace(/^data: /, ''))
}

/** The chunks of a stream, each checked against OpenAI's shape, without `[DONE]`. */
export async function stream(body: Record<string, unknown>): Promise<ChatChunk[]> {
  const data = await streamData(body)
  return data.filter((event) => event !== '[DONE]').map((event) => ChatChunk.parse(JSON.parse(event)))
}

/** A field of the deltas, joined. */
export function join(chunks: ChatChunk[], field: 'content' | 'reasoning_content', index = 0): string {
  return chunks
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ delta }) => delta[field] ?? '')
    .join('')
}
