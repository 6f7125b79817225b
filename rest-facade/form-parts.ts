import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { Busboy, type BusboyEvents, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { DomainError } from '../server/domain/errors.ts'
import { invalidField } from '../server/domain/validation/parse-input.ts'
import type { MultipartBounds } from './route.ts'

const EMPTY = Buffer.alloc(0)
const NAME_CHARACTERS_MAX = 100
const TEXT_BYTES_MAX = 256 * 1024
/** Parsed between two turns of the event loop. */
const SLICE_BYTES = 256 * 1024

export type FormPart = { name: string; text: string } | { name: string; file: FormFile }

export interface FormFile {
  fileName: string
  contentType: string
  bytes: Buffer
  /** Hexadecimal. */
  sha256: string
}

type FieldEvent = Parameters<BusboyEvents['field']>
/** The package's types omit that a part may have no name and no file name. */
type FileEvent = [
  name: string | undefined,
  stream: BusboyFileStream,
  fileName: string | undefined,
  encoding: string,
  contentType: string,
]

/** The parts of a form in order. Fails with `invalid_request` and `payload_too_large`. */
export async function readFormParts(body: Buffer, formType: string, bounds: MultipartBounds): Promise<FormPart[]> {
  const parser = openParser(formType, bounds)
  const parts: FormPart[] = []
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const rejecting = (read: () => void): void => {
    try {
      read()
    } catch (error) {
      reject(error)
    }
  }
  parser.on('error', () => reject(malformed()))
  parser.on('partsLimit', () => reject(invalid(`The form has more than the maximum of ${bounds.partsMax} parts`)))
  parser.on('field', (...[name, text, , isTruncated]: FieldEvent) =>
    rejecting(() => {
      assertName(name)
      if (isTruncated) throw tooLarge(name, TEXT_BYTES_MAX)
      parts.push({ name, text })
    }),
  )
  parser.on('file', (...[name, stream, fileName = '', , contentType]: FileEvent) => {
    stream.on('error', () => reject(malformed()))
    stream.resume()
    rejecting(() => {
      assertFile(name, bounds)
      const file = { fileName, contentType, bytes: EMPTY, sha256: '' }
      parts.push({ name, file })
      collect(stream, file, () => reject(tooLarge(name, bounds.partBytesMax)))
    })
  })
  parser.on('finish', resolve)
  try {
    await Promise.all([feed(parser, body), ended])
  } finally {
    parser.destroy()
  }
  return parts
}

function openParser(contentType: string, { partsMax, partBytesMax }: MultipartBounds): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        parts: partsMax,
        fieldSize: TEXT_BYTES_MAX,
        fileSize: partBytesMax,
        headerPairs: 10,
        headerSize: 4_096,
      },
    })
  } catch {
    throw invalid("The Content-Type 'multipart/form-data' has no boundary")
  }
}

/** Slice by slice, because parsing 25 MB at once would delay every other request. */
async function feed(parser: BusboyInstance, body: Buffer): Promise<void> {
  for (let start = 0; start < body.length && !parser.destroyed; start += SLICE_BYTES) {
    parser.write(body.subarray(start, start + SLICE_BYTES))
    await setImmediate()
  }
  if (!parser.destroyed) parser.end()
}

function collect(stream: BusboyFileStream, file: FormFile, exceeded: () => void): void {
  const chunks: Buffer[] = []
  const hash = createHash('sha256')
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    hash.update(chunk)
  })
  stream.on('limit', exceeded)
  stream.on('end', () => {
    file.bytes = Buffer.concat(chunks)
    file.sha256 = hash.digest('hex')
  })
}

function assertName(name: string | undefined): asserts name is string {
  if (name === undefined || name === '') throw invalid('A part of the form has no name')
  if (name.length > NAME_CHARACTERS_MAX) {
    throw invalid(`The name of a part has more than ${NAME_CHARACTERS_MAX} characters: ${name.slice(0, 32)}…`)
  }
}

function assertFile(name: string | undefined, { files }: MultipartBounds): asserts name is string {
  assertName(name)
  if (!files.includes(name)) throw invalidField(name, `must not be a file; files may be sent as: ${files.join(', ')}`)
}

function tooLarge(name: string, bytesMax: number): DomainError {
  return new DomainError('payload_too_large', `The part ${name} is larger than its maximum of ${bytesMax} bytes`)
}

function malformed(): DomainError {
  return invalid(
    'The body is not a complete form: it does not match the boundary of its Content-Type, or ends too early',
  )
}

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message)
}
