import { posix } from 'node:path'
import { parseSource } from './source-file.ts'

const DOMAIN = 'server/domain/'

/** Pairs of folders of the domain of which each imports the other, so that neither can be understood alone. */
export function findMutualFolders(sources: ReadonlyMap<string, string>): string[] {
  const arrows = new Set<string>()
  for (const [path, source] of sources) {
    const from = folderOf(path)
    if (from === undefined) continue
    for (const { target, isRelative } of parseSource(path, source).imports) {
      const to = isRelative ? folderOf(target) : undefined
      if (to !== undefined && to !== from) arrows.add(`${from} ${to}`)
    }
  }
  return [...arrows].flatMap((arrow) => {
    const [from = '', to = ''] = arrow.split(' ')
    return from < to && arrows.has(`${to} ${from}`) ? [`${DOMAIN}${from} and ${DOMAIN}${to} import each other`] : []
  })
}

/** The folder right below the domain; files at its root, which every folder may use, have none. */
function folderOf(path: string): string | undefined {
  const [folder, ...rest] = path.startsWith(DOMAIN) ? posix.relative(DOMAIN, path).split('/') : []
  return rest.length === 0 ? undefined : folder
}
