import { parentPort } from 'node:worker_threads'
import { DomainError } from '../errors.ts'
import { BODY_TASKS, type BodyQuestion, type BodyResponse } from './body-tasks.ts'

/** Entry point of the body thread: runs one task at a time, in order of arrival. */
parentPort?.on('message', (question: BodyQuestion) => {
  const response = respond(question)
  parentPort?.postMessage(response, [response.bytes.buffer])
})

function respond({ id, task, bytes }: BodyQuestion): BodyResponse {
  try {
    return { id, bytes, kind: 'result', result: BODY_TASKS[task](Buffer.from(bytes.buffer)) }
  } catch (error) {
    if (!(error instanceof DomainError)) return { id, bytes, kind: 'failed', error }
    const { code, message, field, details } = error
    return { id, bytes, kind: 'rejected', error: { code, message, field, details } }
  }
}
