import { DomainError } from '../../../errors.ts'
import { brokenAnswer } from '../../providers/read-json-answer.ts'
import { cleanUpstreamMessage } from '../../providers/upstream-message.ts'
import { isRecord } from '../openai-wire/completion-text.ts'

export function isInactiveKey(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'unauthenticated'
}

/** The failure that a provider reported in its stream, with its message cleaned. */
export function reportedFailure(failure: unknown): DomainError {
  const words = isRecord(failure) ? failure['message'] : failure
  const reason = typeof words === 'string' ? cleanUpstreamMessage(words) : undefined
  return brokenAnswer(reason === undefined ? 'The model provider failed.' : `The model provider failed: ${reason}`)
}
