import type { ActionSubject } from './operator-action.ts'

const INPUT_BYTES_MAX = 8_192
const SUBJECT_CHARACTERS_MAX = 200
const REASON_CHARACTERS_MAX = 500
const SECRET_NAME = /secret|password|pepper|private_?key|api_?key$|authorization|token$/i
const REDACTED = '[redacted]'
const CONTROL_CHARACTERS = /\p{Cc}/gu

/** Subjects are at the top level of an input, and under these names in a result. */
const SUBJECT_HOLDERS = ['account', 'key', 'model', 'change'] as const
const SUBJECT_FIELDS = ['accountId', 'keyId', 'modelId'] as const

/** Prepares an operator's input for the log: removes fields named like secrets, and replaces a long input by its size. */
export function toKeptInput(input: unknown): object {
  const text = JSON.stringify(input ?? {}, (name, value: unknown) => (SECRET_NAME.test(name) ? REDACTED : value))
  const bytes = Buffer.byteLength(text)
  if (bytes > INPUT_BYTES_MAX) return { omitted: `input of ${bytes} bytes; at most ${INPUT_BYTES_MAX} are stored` }
  const kept: unknown = JSON.parse(text)
  return isObject(kept) ? kept : { value: kept }
}

export function readSubject(value: unknown): ActionSubject {
  const subject: ActionSubject = { accountId: null, keyId: null, modelId: null }
  if (!isObject(value)) return subject
  const places = [value, ...SUBJECT_HOLDERS.map((name) => value[name]).filter(isObject)]
  for (const field of SUBJECT_FIELDS) {
    const found = places.map((place) => place[field]).find((id) => typeof id === 'string')
    subject[field] = typeof found === 'string' ? toColumnText(found, SUBJECT_CHARACTERS_MAX) : null
  }
  return subject
}

export function readReason(input: unknown): string | null {
  const reason = isObject(input) ? input['reason'] : undefined
  return typeof reason === 'string' ? toColumnText(reason, REASON_CHARACTERS_MAX) : null
}

/** The database rejects NUL and unpaired surrogates in text. */
export function toColumnText(text: string, charactersMax: number): string {
  return text.replaceAll(CONTROL_CHARACTERS, ' ').slice(0, charactersMax).toWellFormed()
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
