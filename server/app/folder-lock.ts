import { createHash } from 'node:crypto'
import { mkdir, realpath, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Maximum length of a socket path on every platform. */
const SOCKET_PATH_LENGTH_MAX = 100

/** Thrown when another process uses the data folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError'
}

/**
 * Reserves a data folder for this process; two processes in one embedded database would corrupt it. The lock is a
 * listening socket: the system drops it when the process ends in any way, and no process id can be mistaken.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = await realpath(folder)
  const inUse = new FolderInUseError(
    `The data folder ${folder} is in use by another Sluice process. Stop that one, or set SLUICE_DATA_DIR to another folder, or DATABASE_URL to share a PostgreSQL.`,
  )
  const held: Server[] = []
  for (const take of process.platform === 'linux' ? [takeName, takeFile] : [takeFile]) {
    const server = await take(path)
    if (server === undefined) {
      await Promise.all(held.map(closeServer))
      throw inUse
    }
    held.push(server.unref())
  }
  return async () => void (await Promise.all(held.map(closeServer)))
}

/**
 * An abstract socket name on Linux, without a file: a killed process leaves nothing that two others could take over at
 * once. Containers do not see each other's names; they, and other systems, use the file.
 */
function takeName(folder: string): Promise<Server | undefined> {
  return listen(`\0sluice-${hashOf(folder)}`)
}

async function takeFile(folder: string): Promise<Server | undefined> {
  const inside = join(folder, 'lock.sock')
  const path = inside.length <= SOCKET_PATH_LENGTH_MAX ? inside : join(tmpdir(), `sluice-${hashOf(folder)}.sock`)
  return (await listen(path)) ?? takeOverStale(path)
}

function hashOf(folder: string): string {
  return createHash('sha256').update(folder).digest('hex').slice(0, 16)
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
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

/** A killed process leaves its socket file behind, with no listener. */
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
