import type { AnswerBody } from './answer-reader.ts'
import type { Envelope } from './envelope-scanner.ts'

/** Reads large bodies where they delay no other request. */
export interface RpcBodyReader {
  isLarge(body: Buffer): boolean
  scanEnvelope(body: Buffer): Promise<Envelope>
  /** The bytes given may be detached; those returned are the same. */
  readAnswer(raw: Buffer): Promise<{ raw: Buffer; answer: AnswerBody | undefined }>
}
