import { DomainError } from '../errors.ts'
import { type AnswerBody, readAnswer } from '../rpc/answer-reader.ts'
import { type Envelope, scanEnvelope } from '../rpc/envelope-scanner.ts'
import { assertFewMembers, assertParsable, CHECKED_FROM_BYTES } from './json-structure.ts'

/** Tasks whose time grows with the size of the body; they run here or in the body thread. */
export const BODY_TASKS = { json: parseJson, envelope: scanEnvelope, answer: readAnswer } as const

export type BodyTask = keyof typeof BODY_TASKS

export interface BodyResults {
  json: unknown
  envelope: Envelope
  answer: AnswerBody | undefined
}

/** A message to the body thread and its reply. A domain error is sent as its parts, because cloning loses its class. */
export interface BodyQuestion {
  id: number
  task: BodyTask
  bytes: Uint8Array<ArrayBuffer>
}

export type BodyResponse = { id: number; bytes: Uint8Array<ArrayBuffer> } & (
  | { kind: 'result'; result: unknown }
  | { kind: 'rejected'; error: Pick<DomainError, 'code' | 'message' | 'field' | 'details'> }
  | { kind: 'failed'; error: unknown }
)

/** Fails with `invalid_json`, or with `invalid_request` for a structure that would take long to parse. */
export function parseJson(raw: Buffer): unknown {
  assertParsable(raw)
  const parsed = parse(raw)
  if (raw.length >= CHECKED_FROM_BYTES) assertFewMembers(parsed)
  return parsed
}

function parse(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString('utf8'))
  } catch (error) {
    throw new DomainError('invalid_json', 'Invalid JSON request: the body is not valid JSON', { cause: error })
  }
}
