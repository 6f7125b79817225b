import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FolderInUseError, lockFolder } from '../../../server/app/folder-lock.ts'
import { repeats } from '../../support/soak.ts'

const ROUNDS = repeats(3, { soak: 20 })
const CONTENDERS = 3

async function createFolder() {
  const path = await mkdtemp(join(tmpdir(), 'sluice-lock-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Leaves the socket file of a process that was killed. */
async function leaveStaleLock(folder: string): Promise<void> {
  const dieListening =
    'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))'
  await once(spawn(process.execPath, ['-e', dieListening, join(folder, 'lock.sock')]), 'exit')
}

test('a folder is free again as soon as it is released', async () => {
  await using folder = await createFolder()
  const unlock = await lockFolder(folder.path)
  await expect(lockFolder(folder.path)).rejects.toThrow(FolderInUseError)
  await unlock()
  await (await lockFolder(folder.path))()
})

test('exactly one of many processes gets the folder of a killed process', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    await using folder = await createFolder()
    await leaveStaleLock(folder.path)
    const attempts = await Promise.allSettled(Array.from({ length: CONTENDERS }, () => lockFolder(folder.path)))
    const taken = attempts.filter((attempt) => attempt.status === 'fulfilled')
    expect(taken).toHaveLength(1)
    await taken[0]?.value()
  }
})
