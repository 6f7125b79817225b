import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FormData } from 'undici'
import type { ProviderRequestBody } from '../../domain/inference/providers/provider.ts'
import { itemAt } from '../../domain/item-at.ts'

/** Encoding this much text takes a fraction of a millisecond. */
const SLICE_CHARACTERS = 256 * 1024
/** A body of this size is encoded in slices, so a prompt with images does not delay other requests. */
const LARGE_CHARACTERS = 1024 * 1024

export interface EncodedBody {
  /** Headers of the body, names and values in turn. */
  headers: string[]
  content: string | Uint8Array | FormData | Readable
}

const JSON_HEADERS = ['content-type', 'application/json']

/** A body as undici sends it, with the provider's name of the model. */
export function encodeBody(body: ProviderRequestBody, model: string): EncodedBody | Promise<EncodedBody> {
  if (body.kind === 'binary') return { headers: ['content-type', body.contentType], content: body.bytes }
  if (body.kind === 'multipart') return { headers: [], content: toForm(body, model) }
  const value = { ...body.value, model }
  if (charactersLeft(value, LARGE_CHARACTERS) < 0) return encodeInSlices(value)
  return { headers: JSON_HEADERS, content: JSON.stringify(value) }
}

/** The content type with its boundary is set when the form is sent. */
function toForm({ fields, files }: Extract<ProviderRequestBody, { kind: 'multipart' }>, model: string): FormData {
  const form = new FormData()
  form.append('model', model)
  for (const [name, value] of fields) form.append(name, value)
  for (const { name, fileName, contentType, bytes } of files) {
    form.append(name, new Blob([bytes], { type: contentType }), fileName)
  }
  return form
}

/** Subtracts the texts of a value from a number of characters; stops once the result is negative. */
function charactersLeft(value: unknown, characters: number): number {
  if (typeof value === 'string') return characters - value.length
  if (typeof value !== 'object' || value === null) return characters
  let left = characters
  for (const inner of Object.values(value)) {
    left = charactersLeft(inner, left)
    if (left < 0) break
  }
  return left
}

/** JSON whose long texts are encoded one slice per turn of the event loop. */
async function encodeInSlices(value: unknown): Promise<EncodedBody> {
  const pieces: Buffer[] = []
  const longTexts: string[] = []
  // Callers cannot put it into a text, because it is created for this body alone.
  const mark = `<${crypto.randomUUID()}>`
  const frame = JSON.stringify(value, (_name, inner: unknown) => {
    if (typeof inner !== 'string' || inner.length <= SLICE_CHARACTERS) return inner
    longTexts.push(inner)
    return mark
  })
  for (const [index, part] of frame.split(mark).entries()) {
    if (index > 0) await encodeText(itemAt(longTexts, index - 1), pieces)
    pieces.push(Buffer.from(part))
  }
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return { headers: [...JSON_HEADERS, 'content-length', String(length)], content: Readable.from(pieces) }
}

/** Without its quotes. A surrogate pair that is cut becomes two escapes with the same meaning. */
async function encodeText(text: string, pieces: Buffer[]): Promise<void> {
  for (let start = 0; start < text.length; start += SLICE_CHARACTERS) {
    pieces.push(Buffer.from(JSON.stringify(text.slice(start, start + SLICE_CHARACTERS)).slice(1, -1)))
    await nextTurn()
  }
}
