import { DomainError, type DomainErrorCode } from '../domain/errors.ts'

/** The logged form of an error. */
export interface ErrorSummary {
  type: string
  message: string
  code?: string | number
  status?: number
  /** Name of the violated database constraint. */
  constraint?: string
  stack?: string
  cause?: ErrorSummary
  /** The errors inside an aggregate error. */
  errors?: ErrorSummary[]
}

const CAUSES_MAX = 4
const ERRORS_MAX = 3
const FRAMES_MAX = 12
const MESSAGE_CHARACTERS_MAX = 200
const SCANNED_CHARACTERS_MAX = 2_000

const URL_TEXT = /\b[a-z][a-z0-9+.-]*:\/\/\S*/gi
/** Text that an error quotes (a body, a header, an argument) follows one of these. */
const QUOTATION_BEGINS = /["`“”<>({[=]|(?<!\w)['‘’]|['’](?!\w)|:(?:\s|$)/
const CREDENTIAL = /\b(?:bearer|basic|token|password|secret|signature|api[-_ ]?key)\s+\S+/gi
const HOST = /\b(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[\w-]+\.)+[a-z]{2,})(?::\d{1,5})?\b/gi
/** Keys, hashes, signatures and other words of 12 or more characters with a letter and a digit. */
const OPAQUE_WORD = /(?=\S*\d)(?=\S*[a-z])\S{12,}/gi
const NAME = /^[\w$.-]{1,60}$/
const FRAME = /^ {4}at (?:[^:"'`]* )?\(?(?:file:\/\/|node:)[^\s?#"'`]+:\d+:\d+\)?$/

/** Their messages are written entirely by a peer. */
const QUOTING_TYPES: ReadonlySet<string> = new Set(['SolanaRpcError', 'RpcError', 'ProviderRpcError'])
const QUOTING_CODES: ReadonlySet<DomainErrorCode> = new Set(['upstream_rejected', 'context_length_exceeded'])

/**
 * The only form in which errors reach the log: type, code, place, and the first line of the message up to its first
 * quotation. Errors of libraries contain node URLs with their keys, request headers, and bodies that repeat either, so
 * the rest of a message is never logged.
 */
export function summarizeError(error: unknown, causesLeft = CAUSES_MAX): ErrorSummary {
  if (!(error instanceof Error)) return { type: typeof error, message: 'a value that is not an error was thrown' }
  const summary: ErrorSummary = { type: typeOf(error), message: messageOf(error), ...codesOf(error) }
  const stack = framesOf(error)
  if (stack !== '') summary.stack = stack
  if (causesLeft === 0) return summary
  if (error.cause instanceof Error) summary.cause = summarizeError(error.cause, causesLeft - 1)
  if (error instanceof AggregateError) {
    summary.errors = error.errors.slice(0, ERRORS_MAX).map((one: unknown) => summarizeError(one, causesLeft - 1))
  }
  return summary
}

/** For texts that are not errors. */
export function withoutUrls(text: string): string {
  return text.replace(URL_TEXT, '[url]')
}

function typeOf(error: Error): string {
  const name = error.name === 'Error' ? error.constructor.name : error.name
  return NAME.test(name) ? name : 'Error'
}

function messageOf(error: Error): string {
  // A failed system call names its peer; its name and code are enough.
  if ('syscall' in error && 'code' in error) return plainPart(`${String(error.syscall)} ${String(error.code)}`)
  const quotes = error instanceof DomainError ? QUOTING_CODES.has(error.code) : QUOTING_TYPES.has(typeOf(error))
  return quotes ? '' : plainPart(error.message)
}

function plainPart(message: string): string {
  const [line = ''] = message.slice(0, SCANNED_CHARACTERS_MAX).split(/[\r\n\u2028\u2029]/)
  const text = withoutUrls(line)
  const beginsAt = text.search(QUOTATION_BEGINS)
  const own = beginsAt < 0 ? text : text.slice(0, beginsAt)
  return own
    .replace(CREDENTIAL, '[redacted]')
    .replace(HOST, '[host]')
    .replace(OPAQUE_WORD, '[redacted]')
    .trim()
    .slice(0, MESSAGE_CHARACTERS_MAX)
}

function codesOf(error: Error): Pick<ErrorSummary, 'code' | 'status' | 'constraint'> {
  const { code, status, constraint } = error as { code?: unknown; status?: unknown; constraint?: unknown }
  return {
    ...(typeof code === 'number' || isName(code) ? { code } : {}),
    ...(typeof status === 'number' ? { status } : {}),
    ...(isName(constraint) ? { constraint } : {}),
  }
}

function isName(value: unknown): value is string {
  return (
    typeof value === 'string' && NAME.test(value) && !/(?=.*\d)(?=.*[a-z])\S{12,}/i.test(value.replaceAll('_', ' '))
  )
}

/** The stack frames after the message, which may itself contain lines that look like frames. */
function framesOf({ stack = '', message }: Error): string {
  const at = stack.indexOf(message)
  if (at < 0) return ''
  return stack
    .slice(at + message.length)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, FRAMES_MAX)
    .join('\n')
}
