import { z } from 'zod'

const MAX_MESSAGE_CHARACTERS = 500

/** Patterns that must not leave the platform: addresses, credentials and stack traces of the provider's machine. */
const SECRETS: readonly RegExp[] = [
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)]+/gi,
  /\bBearer\s+[^\s"',]+/gi,
  /\b(?:api[-_ ]?key|authorization|access[-_ ]?token)["']?\s*[:=]\s*["']?[^\s"',]+/gi,
  /\b(?:sk|pk|rk|key|gsk|hf|xai)[-_][A-Za-z0-9_*.-]{6,}/g,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f]*:[0-9a-f:.]+\](?::\d{1,5})?/gi,
  /\b(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?\.)+(?:com|net|org|io|ai|dev|cloud|local|internal|lan|svc|app|co|eu|us|de|cn|example|test|invalid)\b(?::\d{1,5})?/gi,
  /\blocalhost(?::\d{1,5})?\b/gi,
  /\b[a-z][a-z0-9.-]*:\d{2,5}\b/gi,
  /(?<![\w/])\/(?:usr|home|opt|app|var|root|tmp|etc|mnt|srv|workspace)\/[^\s"',)]*/g,
  /\/[^\s"'<>?]{0,300}\?[^\s"'<>=]{0,300}=[^\s"'<>]*/g,
  /\b(?=\w*\d)(?=\w*[A-Za-z])\w{32,}\b/g,
]

const TRACE_BEGINS = /Traceback \(most recent|\n\s+at |\n\s+File "/

const ErrorText = z.string().min(1)
const ErrorBody = z.union([
  z
    .object({ error: z.object({ message: ErrorText, code: z.unknown().optional(), type: z.unknown().optional() }) })
    .transform(({ error }) => ({ message: error.message, code: error.code ?? error.type })),
  z.object({ error: ErrorText }).transform(({ error }) => ({ message: error, code: undefined })),
  z.object({ message: ErrorText, code: z.unknown().optional() }),
  z.object({ detail: ErrorText }).transform(({ detail }) => ({ message: detail, code: undefined })),
  z
    .object({ detail: z.array(z.object({ msg: ErrorText })).min(1) })
    .transform(({ detail }) => ({ message: detail.map((part) => part.msg).join('; '), code: undefined })),
])

export interface UpstreamError {
  /** Cleaned and at most 500 characters; undefined if the provider gave no readable reason. */
  message: string | undefined
  code: string | undefined
}

/** The reason in a provider's error body, in the forms that OpenAI, vLLM, llama.cpp, Ollama and FastAPI servers use. */
export function readUpstreamError(body: string): UpstreamError {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return { message: undefined, code: undefined }
  }
  const parsed = ErrorBody.safeParse(json)
  if (!parsed.success) return { message: undefined, code: undefined }
  const { message, code } = parsed.data
  return { message: cleanUpstreamMessage(message), code: typeof code === 'string' ? code : undefined }
}

/** Removes addresses, credentials and stack traces from a provider's message, so that it can be shown to a caller. */
export function cleanUpstreamMessage(raw: string): string | undefined {
  // Truncated before the patterns run, so that a hostile body is cheap.
  let text = raw.slice(0, 8 * MAX_MESSAGE_CHARACTERS)
  const trace = text.search(TRACE_BEGINS)
  if (trace >= 0) text = text.slice(0, trace)
  for (const secret of SECRETS) text = text.replace(secret, '[removed]')
  text = text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  if (text.length > MAX_MESSAGE_CHARACTERS) text = `${text.slice(0, MAX_MESSAGE_CHARACTERS - 1)}…`
  return text === '' ? undefined : text
}

const CONTEXT_CODES = new Set(['context_length_exceeded', 'exceed_context_size_error', 'context_window_exceeded'])
const CONTEXT_TEXT =
  /maximum context length|context length (?:is )?exceeded|context_length_exceeded|exceeds? (?:the )?(?:model's |available |maximum )*context|longer than the (?:model's )?context|prompt is too long|input token count .{0,60}exceeds/i

/** Whether a provider's error says that the prompt exceeds the model's context. */
export function saysContextOverflow(error: UpstreamError): boolean {
  if (error.code !== undefined && CONTEXT_CODES.has(error.code)) return true
  return error.message !== undefined && CONTEXT_TEXT.test(error.message)
}
