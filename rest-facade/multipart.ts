import { type FormFile, type FormPart, readFormParts } from './form-parts.ts'
import type { MultipartBounds } from './route.ts'

const MULTIPART_TYPE = /^multipart\/form-data\s*;/i

/** A part of a form that is a file. */
export type UploadedFile = Omit<FormFile, 'sha256'>

type FormValue = string | UploadedFile

export function isMultipart(contentType: string): boolean {
  return MULTIPART_TYPE.test(contentType)
}

/**
 * Reads a form as an object keyed by part names, with a list if a name repeats. `raw` identifies equal forms, because
 * clients write a new boundary into each repeat.
 */
export async function readMultipart(body: Buffer, contentType: string, bounds: MultipartBounds) {
  const parts = await readFormParts(body, contentType, bounds)
  const values = new Map<string, FormValue | FormValue[]>()
  for (const part of parts) {
    const others = values.get(part.name)
    const value = toValue(part)
    values.set(part.name, others === undefined ? value : [others, value].flat())
  }
  return { raw: toFingerprint(parts), parsed: Object.fromEntries(values) }
}

function toValue(part: FormPart): FormValue {
  if ('text' in part) return part.text
  const { fileName, contentType, bytes } = part.file
  return { fileName, contentType, bytes }
}

function toFingerprint(parts: readonly FormPart[]): Buffer {
  const described = parts.map((part) => {
    if ('text' in part) return [part.name, part.text]
    const { fileName, contentType, sha256 } = part.file
    return [part.name, fileName, contentType, sha256]
  })
  // No JSON begins like this, so a body of another kind never equals a form.
  return Buffer.from(`form ${JSON.stringify(described)}`)
}
