import type { SourceFile, SourceImport } from './source-file.ts'

/** What a part of the tree may import: from where, and from where only types. Packages are free unless refused. */
interface Zone {
  /** Begins the path of every file of the zone; the longest one that fits counts. */
  root: string
  imports: readonly string[]
  types?: readonly string[]
  refusedPackages?: RegExp
}

/** The domain knows no transport, no driver and no process. */
const TRANSPORT_PACKAGES =
  /^(express|helmet|compression|graphql.*|@pothos\/.*|@trpc\/.*|redis|@redis\/.*|pg|@electric-sql\/.*|ws|undici|pino|prom-client|commander|find-my-way|@fastify\/busboy|node:(http|https|http2|net|process))$/
const FRONT_PACKAGES = /^(redis|@redis\/.*|pg|@electric-sql\/.*|undici)$/

const ZONES: readonly Zone[] = [
  { root: 'server/domain/', imports: ['server/domain/'], types: ['server/db/'], refusedPackages: TRANSPORT_PACKAGES },
  { root: 'server/config/', imports: ['server/config/', 'server/domain/'] },
  ...['db', 'store', 'upstream', 'observability'].map((name) => ({
    root: `server/${name}/`,
    imports: [`server/${name}/`, 'server/domain/'],
    types: ['server/config/'],
  })),
  { root: 'schema/', imports: ['schema/', 'server/domain/'], refusedPackages: FRONT_PACKAGES },
  { root: 'rest-facade/', imports: ['rest-facade/', 'server/domain/'], refusedPackages: FRONT_PACKAGES },
  { root: 'server/', imports: ['server/', 'schema/', 'rest-facade/'] },
  { root: 'client/', imports: ['client/'], types: ['schema/', 'server/domain/'] },
  { root: 'client/cli/', imports: ['client/', 'server/config/'], types: ['schema/', 'server/domain/'] },
  { root: 'scripts/', imports: ['scripts/', 'server/', 'schema/', 'rest-facade/'] },
  { root: 'bench/', imports: ['bench/', 'server/', 'client/', 'test/support/', 'package.json'] },
  { root: 'test/', imports: [''] },
]

export function findDirectionViolations(file: SourceFile): string[] {
  const zone = ZONES.filter(({ root }) => file.path.startsWith(root)).toSorted(
    (a, b) => b.root.length - a.root.length,
  )[0]
  if (zone === undefined) return []
  return file.imports.flatMap((found) => {
    const fault = judgeImport(found, { zone, file })
    return fault === undefined ? [] : [`${file.path}:${found.line} ${fault}`]
  })
}

function judgeImport(found: SourceImport, { zone, file }: { zone: Zone; file: SourceFile }): string | undefined {
  const { target, isRelative, typeOnly } = found
  if (/^kysely(\/|$)/.test(target) && !mayImportKysely(file.path)) {
    return `imports ${target}; SQL belongs in server/db and in *-repository.ts`
  }
  if (!isRelative)
    return zone.refusedPackages?.test(target) ? `imports ${target}, which ${zone.root} must not know` : undefined
  const isFront = zone.root === 'schema/' || zone.root === 'rest-facade/'
  if (isFront && target.endsWith('-repository.ts')) return `imports ${target}; a front calls services, not repositories`
  if (zone.imports.some((root) => target.startsWith(root))) return undefined
  if (!zone.types?.some((root) => target.startsWith(root))) return `imports ${target}, which ${zone.root} must not know`
  return typeOnly ? undefined : `imports ${target}, of which ${zone.root} may only import types`
}

function mayImportKysely(path: string): boolean {
  if (/^(test|bench)\//.test(path)) return true
  return path.startsWith('server/db/') || (path.startsWith('server/domain/') && path.endsWith('-repository.ts'))
}
