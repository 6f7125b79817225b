import type { AnswerBody } from './answer-reader.ts'
import type { Envelope } from './envelope-scanner.ts'

/** Reads large bodies without delaying other requests. */
export interface RpcBodyReader {
  isLarge(body: Buffer): boolean
  scanEnvelope(body: Buffer): Promise<Envelope>
  /** May detach the given buffer; the returned one has the same bytes. */
  readAnswer(raw: Buffer): Promise<{ raw: Buffer; answer: AnswerBody | undefined }>
}
