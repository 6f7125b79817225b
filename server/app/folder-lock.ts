import { createHash } from 'node:crypto'
import { mkdir, realpath, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Longest path that a socket may have on every platform. */
const SOCKET_PATH_LENGTH_MAX = 100

/** Thrown when another process has the data folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError'
}

/**
 * Takes a data folder for this process alone; two processes in one embedded database would corrupt it. The lock is a
 * listening socket: the system drops it with the process, however that ends, and no process id can be mistaken.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = socketPath(await realpath(folder))
  const server = (await listen(path)) ?? (await takeOverStale(path))
  if (server === undefined) {
    throw new FolderInUseError(
      `The data folder ${folder} is in use by another Sluice process. Stop that one, or set SLUICE_DATA_DIR to another folder, or DATABASE_URL to share a PostgreSQL.`,
    )
  }
  server.unref()
  return () => new Promise((resolve) => server.close(() => resolve()))
}

function socketPath(folder: string): string {
  const inside = join(folder, 'lock.sock')
  if (inside.length <= SOCKET_PATH_LENGTH_MAX) return inside
  return join(tmpdir(), `sluice-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.sock`)
}

function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    server.listen(path, () => resolve(server))
  })
}

/** A killed process leaves its socket file behind, with nobody answering. */
async function takeOverStale(path: string): Promise<Server | undefined> {
  if (await answers(path)) return undefined
  await rm(path, { force: true })
  return listen(path)
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
