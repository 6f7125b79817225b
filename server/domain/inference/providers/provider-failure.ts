import { DomainError } from '../../errors.ts'
import type { ProviderResponse, ProviderResponseKind } from './provider.ts'
import { readUpstreamError, saysContextOverflow } from './upstream-message.ts'

const MAX_ERROR_BODY_BYTES = 65_536
const DEFAULT_RETRY_AFTER_SECONDS = 30
const MAX_RETRY_AFTER_SECONDS = 3_600
/** Shorter model names could be part of ordinary words. */
const MIN_NAME_CHARACTERS = 4

/**
 * Statuses that blame the request itself: another provider would respond the same, so the response passes to the caller.
 */
const REJECTIONS = new Set([400, 404, 413, 422])

export interface ProviderFailure {
  error: DomainError
  /** True if another provider may succeed; false if the request itself is at fault. */
  failover: boolean
  /** Input for the provider's circuit breaker; overload and rejections come from healthy providers. */
  healthy: boolean
  /** The response's status, for the log; undefined if there was no response. */
  status?: number
}

export interface AskedFor {
  /** The provider's name of the model, which its messages use. */
  providerModel: string
  modelId: string
}

/** Whether the status and headers match the request; the code that reads the body rejects one that does not. */
export function isUsable({ status, contentType }: ProviderResponse, accepted: ProviderResponseKind): boolean {
  return status >= 200 && status < 300 && isExpectedType(contentType, accepted)
}

/** Classifies an unusable response, and reads its body up to a limit so that the connection is released. */
export async function judgeResponse(response: ProviderResponse, asked: AskedFor): Promise<ProviderFailure> {
  const { status } = response
  if (status >= 200 && status < 300) {
    await readBounded(response.body, 0)
    const message = 'The model provider responded in an unknown format. Try again, or choose another model.'
    return { ...brokenProvider(message), status }
  }
  const body = await readBounded(response.body, MAX_ERROR_BODY_BYTES)
  if (REJECTIONS.has(status)) return { error: rejection(status, body, asked), failover: false, healthy: true, status }
  if (status === 429) return { error: overload(response.retryAfterSeconds), failover: true, healthy: true, status }
  if (status === 408 || status === 504) return { error: timeoutError(), failover: true, healthy: false, status }
  const message = 'The model provider failed. Try again, or choose another model.'
  return { ...brokenProvider(message), status }
}

/** Classifies a rejected `send`: no response headers arrived. */
export function judgeRejection(cause: unknown): ProviderFailure {
  if (cause instanceof DomainError) return { error: cause, failover: true, healthy: false }
  return brokenProvider('The model provider could not be reached. Try again, or choose another model.', cause)
}

function brokenProvider(message: string, cause?: unknown): ProviderFailure {
  return { error: new DomainError('upstream_failed', message, { cause }), failover: true, healthy: false }
}

function timeoutError(): DomainError {
  return new DomainError(
    'upstream_timeout',
    'The model provider did not respond in time. Try again, or send a smaller request.',
  )
}

function overload(retryAfterSeconds: number | undefined): DomainError {
  const seconds = Math.min(
    Math.max(Math.ceil(retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS), 1),
    MAX_RETRY_AFTER_SECONDS,
  )
  return new DomainError('upstream_overloaded', `The model is overloaded. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  })
}

function rejection(status: number, body: string, { providerModel, modelId }: AskedFor): DomainError {
  const reason = readUpstreamError(body)
  if (status === 400 && saysContextOverflow(reason)) {
    const message = reason.message ?? "The messages exceed the model's context. Shorten them or lower max_tokens."
    return new DomainError('context_length_exceeded', message, { field: 'messages', upstreamStatus: status })
  }
  const words = reason.message ?? `The model provider rejected the request with status ${status}.`
  const message = providerModel.length < MIN_NAME_CHARACTERS ? words : words.replaceAll(providerModel, modelId)
  return new DomainError('upstream_rejected', message, { upstreamStatus: status })
}

/** A missing content type is accepted. */
function isExpectedType(contentType: string, accepted: ProviderResponseKind): boolean {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type === '') return true
  if (accepted === 'binary') return /^(?:image|audio|video)\/|^application\/octet-stream$/.test(type)
  if (type === 'application/json' || type.endsWith('+json')) return true
  return accepted === 'events' && type === 'text/event-stream'
}

/** Reads at most `limitBytes` and drops the rest, so that the connection is released whatever the provider sends. */
async function readBounded(body: AsyncIterable<Uint8Array>, limitBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      if (size >= limitBytes) break
      chunks.push(chunk.subarray(0, limitBytes - size))
      size += chunk.length
    }
  } catch {
    // A truncated body may still contain the reason.
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}
