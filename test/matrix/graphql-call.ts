import { readEventStream } from '../support/event-stream.ts'
import { type CredentialName, headersOf } from './credentials.ts'
import type { Scene } from './scene.ts'

export interface GraphqlCall {
  query: string
  variables?: unknown
}

export interface GraphqlAnswerText {
  status: number
  /** The whole answer of a query or mutation; of a subscription its first event. */
  text: string
}

/** One operation over HTTP as somebody; `onOpen` is called when a stream of events has begun. */
export async function callGraphql(
  scene: Scene,
  { query, variables }: GraphqlCall,
  { credential, onOpen }: { credential: CredentialName; onOpen?: () => void },
): Promise<GraphqlAnswerText> {
  const end = new AbortController()
  const response = await fetch(`${scene.server.url}/graphql`, {
    method: 'POST',
    signal: end.signal,
    headers: {
      'content-type': 'application/json',
      accept: query.startsWith('subscription') ? 'text/event-stream' : 'application/json',
      ...(await headersOf(credential, scene)),
    },
    body: JSON.stringify({ query, variables }),
  })
  const { status } = response
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!isStream) return { status, text: await response.text() }
  onOpen?.()
  const { value } = await readEventStream(response).next()
  end.abort()
  return { status, text: JSON.stringify(value?.data) }
}
