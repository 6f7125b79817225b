import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Secrets {
  operatorToken: string
  keyPepper: string
}

const FILE_NAMES = { operatorToken: 'operator-token', keyPepper: 'key-pepper' } as const

/** The secret stored in the data folder, created on the first call. */
export async function readOrCreateSecret(dataDir: string, secret: keyof Secrets): Promise<string> {
  const path = join(dataDir, FILE_NAMES[secret])
  const kept = await readSecret(path)
  if (kept !== undefined) return kept
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  return createSecret(path)
}

/** The operator token of a data folder, for a CLI on the same machine; undefined if there is none. */
export function findOperatorToken(dataDir: string): Promise<string | undefined> {
  return readSecret(join(dataDir, FILE_NAMES.operatorToken))
}

/** A hard link appears whole or not at all, so processes that start together agree on one secret. */
async function createSecret(path: string): Promise<string> {
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, path)
  } catch (error) {
    if (!isFileError(error, 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
  const secret = await readSecret(path)
  if (secret === undefined) throw new Error(`${path} is empty: delete it, or write the secret into it`)
  return secret
}

async function readSecret(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim() || undefined
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return undefined
    throw error
  }
}

function isFileError(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
