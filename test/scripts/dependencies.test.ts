import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { parseSource } from '../support/architecture/source-file.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface LockedPackage {
  version: string
  integrity?: string
  resolved?: string
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
}

/** Where the image and the tests run. */
const isForLinux = ({ os, cpu, libc = ['glibc'] }: LockedPackage) =>
  os?.includes('linux') && cpu?.includes('x64') && libc.includes('glibc')

const packageOf = (target: string) => /^(?:@[^/]+\/)?[^/]+/.exec(target)?.[0]

it('the product imports only packages that are installed without development dependencies', () => {
  const paths = globSync('{server,schema,rest-facade,client}/**/*.ts', { cwd: ROOT })
  const imported = paths
    .flatMap((path) => parseSource(path, read(path)).imports)
    .filter(({ target, isRelative }) => !isRelative && !isBuiltin(target))
    .map(({ target }) => packageOf(target))
  expect(imported.length).toBeGreaterThan(100)
  expect([...new Set(imported)].filter((name) => name === undefined || !(name in manifest.dependencies))).toEqual([])
})

describe.each(['package-lock.json', 'bench/package-lock.json'])('%s', (path) => {
  const { packages } = JSON.parse(read(path)) as { packages: Record<string, LockedPackage> }
  const locked = Object.entries(packages).filter(([name]) => name !== '')

  it('proves the contents of every package except optional binaries for other systems', () => {
    const unproven = locked.map(([, entry]) => entry).filter(({ integrity }) => integrity === undefined)
    expect(unproven.filter((entry) => entry.optional !== true || entry.os === undefined || isForLinux(entry))).toEqual(
      [],
    )
  })

  it('does not prescribe a registry', () => {
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  })
})
