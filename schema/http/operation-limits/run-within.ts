import type { ExecutionResult } from 'graphql'
import { refusal } from '../../errors.ts'

/** The result of `run`, or a rejection once time is up; `lifetime` is then aborted, which also stops the work. */
export async function runWithin(
  timeoutMs: number,
  lifetime: AbortController,
  run: () => Promise<ExecutionResult> | ExecutionResult,
): Promise<ExecutionResult> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<ExecutionResult>((resolve) => {
    timer = setTimeout(() => {
      const message = `The operation took longer than ${timeoutMs / 1_000} s; request less at once`
      resolve({ errors: [refusal('EXECUTION_TIMEOUT', message, { status: 504, spec: true })] })
      lifetime.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([run(), late])
  } finally {
    clearTimeout(timer)
  }
}
