import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ENV_VARIABLES } from '../server/config/env.ts'
import { findMutualFolders } from './support/architecture/folders.ts'
import { findViolations } from './support/architecture/rules.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

describe('the sources', () => {
  it('keep the import directions, homes, names and sizes of docs/architecture.md', () => {
    const paths = globSync('{server,schema,rest-facade,client,scripts,bench,test}/**/*.{ts,tsx}', {
      cwd: ROOT,
      exclude: ['**/node_modules/**'],
    })
    expect(paths.length).toBeGreaterThan(50)
    expect(paths.flatMap((path) => findViolations(path, read(path)))).toEqual([])
  })

  it('have no two domain folders that import each other', () => {
    const paths = globSync('server/domain/**/*.ts', { cwd: ROOT })
    expect(findMutualFolders(new Map(paths.map((path) => [path, read(path)])))).toEqual([])
  })

  it('read exactly the environment variables that .env.example lists', () => {
    const listed = [...read('.env.example').matchAll(/^#? ?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name)
    expect(new Set(listed)).toEqual(new Set(ENV_VARIABLES))
  })
})

describe('a planted violation is caught:', () => {
  it.each([
    ['server/domain/a.ts', `import { x } from '../upstream/x.ts'`, 'imports server/upstream/x.ts'],
    ['server/domain/a.ts', `import { x } from '../db/database.ts'`, 'may only import types'],
    ['server/domain/a.ts', `export { x } from '../db/database.ts'`, 'may only import types'],
    ['server/domain/a.ts', `await import('../app/x.ts')`, 'imports server/app/x.ts'],
    ['server/domain/a.ts', `import express from 'express'`, 'imports express'],
    ['server/domain/a.ts', `import { GraphQLError } from 'graphql'`, 'imports graphql'],
    ['server/domain/a/a-service.ts', `import { sql } from 'kysely'`, 'SQL belongs in'],
    ['rest-facade/keys/a.ts', `import type { Kysely } from 'kysely'`, 'SQL belongs in'],
    ['server/domain/a.ts', `const day = new Date()`, 'uses current time'],
    ['rest-facade/a.ts', `const now = Date.now()`, 'uses current time'],
    ['server/db/a.ts', `import { x } from '../app/x.ts'`, 'imports server/app/x.ts'],
    ['server/store/a.ts', `import { x } from '../config/x.ts'`, 'may only import types'],
    ['server/config/a.ts', `import { x } from '../store/x.ts'`, 'imports server/store/x.ts'],
    ['schema/a.ts', `import { x } from '../rest-facade/x.ts'`, 'imports rest-facade/x.ts'],
    ['rest-facade/a/b.ts', `import type { X } from '../../schema/x.ts'`, 'imports schema/x.ts'],
    ['schema/a.ts', `import { x } from '../server/domain/a/a-repository.ts'`, 'not repositories'],
    ['schema/a.ts', `import { x } from '../server/app/x.ts'`, 'imports server/app/x.ts'],
    ['client/sdk/a.ts', `import { x } from '../../schema/trpc/router.ts'`, 'may only import types'],
    ['client/sdk/a.ts', `import '../../server/config/env.ts'`, 'imports server/config/env.ts'],
    ['server/main.ts', `import { x } from '../test/support/x.ts'`, 'imports test/support/x.ts'],
    ['server/app/a.ts', `const port = process.env.PORT`, 'uses process.env'],
    ['server/app/a.ts', `const port = process['env']['PORT']`, 'uses process.env'],
    ['server/app/a.ts', `const { env } = process`, 'uses process.env'],
    ['server/app/a.ts', `import { env } from 'node:process'`, 'uses process.env'],
    ['schema/a.ts', `console.error('x')`, 'uses console'],
    ['server/app/a.ts', `export default 1`, 'uses default export'],
    ['server/app/a.ts', `const a = 1\nexport { a as default }`, 'uses default export'],
    ['server/app/a.ts', `const a = b as any`, 'uses any'],
    ['server/app/a.ts', `const a = b as unknown as string`, 'uses double assertion'],
    ['server/app/a.ts', `const a = b!.c`, 'uses non-null assertion'],
    ['server/app/a.ts', `// @ts-ignore\nlet a`, 'switches a check off'],
    ['test/a.ts', `/* oxlint-disable */\nlet a`, 'switches a check off'],
    ['server/app/a.ts', `// TODO: later\nlet a`, 'unfinished'],
    ['server/app/utils.ts', `export const a = 1`, 'a name that says nothing'],
  ])('%s: %s', (path, source, violation) => {
    expect(findViolations(path, source)).toEqual([expect.stringContaining(violation)])
  })

  it('two domain folders that import each other', () => {
    const sources = new Map([
      ['server/domain/a/x.ts', `import { y } from '../b/deep/y.ts'`],
      ['server/domain/b/deep/z.ts', `import type { X } from '../../a/x.ts'\nimport { clock } from '../../clock.ts'`],
    ])
    expect(findMutualFolders(sources)).toEqual(['server/domain/a and server/domain/b import each other'])
  })

  it('a file of more than 400 lines', () => {
    expect(findViolations('server/app/a.ts', ';\n'.repeat(400))).toEqual([])
    expect(findViolations('server/app/a.ts', ';\n'.repeat(401))).toEqual([
      'server/app/a.ts has 401 lines, more than 400',
    ])
  })
})

describe('allowed imports pass:', () => {
  it.each([
    [
      'server/domain/a/a-repository.ts',
      `import { sql } from 'kysely'\nimport type { Database } from '../../db/schema.ts'`,
    ],
    ['server/domain/a.ts', `const text = 'process.env' // console.log and new Date()\nconst day = new Date(0)`],
    ['server/store/a.ts', `import type { Config } from '../config/config.ts'\nimport { createClient } from 'redis'`],
    [
      'server/app/a.ts',
      `import { ROUTES } from '../../rest-facade/router.ts'\nimport { schema } from '../../schema/index.ts'`,
    ],
    ['client/sdk/a.ts', `import type { AppRouter } from '../../schema/trpc/router.ts'`],
    ['client/cli/main.ts', `import { readEnv } from '../../server/config/env.ts'\nconsole.log(readEnv())`],
    ['server/config/env.ts', `const source = process.env`],
    ['vitest.config.ts', `export default {}`],
  ])('%s: %s', (path, source) => {
    expect(findViolations(path, source)).toEqual([])
  })
})
