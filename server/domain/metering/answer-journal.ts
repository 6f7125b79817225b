import type { RequestContext } from '../caller.ts'
import type { Usage } from './hold.ts'

/**
 * Keeps an answer before it is charged, so that neither is lost when the process dies between the two. A service that
 * runs under an idempotency key finds one in its context and knows nothing else about idempotency.
 */
export interface AnswerJournal<Answer> {
  /** The next piece of an answer that streams: all of it up to the charge before `answered`, what trails behind after it. */
  piece(bytes: Uint8Array): Promise<void>
  /** Resolves when the answer and its price are durable; where it fails, the answer must not be charged. */
  answered(answer: Answer, usage: Usage): Promise<void>
}

/** The context of a request whose answer may have to be kept. */
export type Journaled<Answer> = RequestContext & { journal?: AnswerJournal<Answer> | undefined }
