import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, inject, test } from 'vitest'
import { describeStartFailure } from '../../../server/app/start-failure.ts'
import { createPostgresDatabase, pingDatabase } from '../../../server/db/database.ts'
import { hasEngine } from '../../support/database.ts'

async function takePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, [Symbol.asyncDispose]: async () => void server.close() }
}

test('names the address that is taken, and the variables that choose another', async () => {
  await using taken = await takePort()
  const [error] = await once(createServer().listen(taken.port, '127.0.0.1'), 'error')
  expect(describeStartFailure(error)).toBe(
    `Sluice cannot listen there (listen EADDRINUSE: address already in use 127.0.0.1:${taken.port}): set PORT or HOST to a free address.`,
  )
})

test('names the database that does not respond, without its password', async () => {
  const free = await takePort()
  await free[Symbol.asyncDispose]()
  const { db, close } = createPostgresDatabase(`postgres://someone:hunter2@127.0.0.1:${free.port}/sluice`)
  const error: unknown = await pingDatabase(db).catch((failure: unknown) => failure)
  await close()
  expect(describeStartFailure(error)).toBe(
    `The database at DATABASE_URL does not respond (connect ECONNREFUSED 127.0.0.1:${free.port}).`,
  )
})

test.runIf(hasEngine('postgres'))('repeats why the database rejected', async () => {
  const { adminUrl = '' } = inject('postgres') ?? {}
  const { db, close } = createPostgresDatabase(new URL('/no_such_database', adminUrl).href)
  const error: unknown = await pingDatabase(db).catch((failure: unknown) => failure)
  await close()
  expect(describeStartFailure(error)).toBe(
    'The database at DATABASE_URL rejected the connection: database "no_such_database" does not exist (3D000)',
  )
})

test('shows the place of a failure that nobody foresaw', () => {
  expect(describeStartFailure(new TypeError('x is not a function'))).toMatch(/^TypeError: x is not a function\n +at /)
})

test('shows no URL that a failure carries, since it may hold a password', () => {
  const url = 'postgres://someone:hunter2@not a host:1/sluice'
  const invalid = (() => {
    try {
      return new URL(url)
    } catch (error) {
      return error
    }
  })()
  const failure = new Error(`cannot connect to ${url}`, { cause: invalid })
  expect(describeStartFailure(failure)).toMatch(/^Error: cannot connect to\n[^]*Caused by TypeError: Invalid URL/)
  for (const error of [failure, invalid, url]) expect(describeStartFailure(error)).not.toContain('hunter2')
})
