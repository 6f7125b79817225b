import type { ProviderResponse } from '../../../domain/inference/providers/provider.ts'
import { errorResponse } from './json-response.ts'
import type { Magic } from './magic.ts'

/**
 * The failure that `[[error:…]]` forces: a status from 400 to 599, `context`, or `timeout`, which lasts until the
 * caller disconnects.
 */
export async function findForcedFailure(magic: Magic, signal: AbortSignal): Promise<ProviderResponse | undefined> {
  const wanted = magic.value('error')
  if (wanted === 'timeout') return hangUntilAborted(signal)
  if (wanted === 'context') {
    return errorResponse(400, "[sandbox] This model's maximum context length is exceeded", 'context_length_exceeded')
  }
  const status = Number(wanted)
  if (!Number.isInteger(status) || status < 400 || status > 599) return undefined
  return errorResponse(status, `[sandbox] The prompt asked for status ${status}`)
}

function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
