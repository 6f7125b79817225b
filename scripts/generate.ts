import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { printGraphqlSchema } from '../schema/print.ts'
import { ConfigFile } from '../server/config/file/schema.ts'

const ROOT = join(import.meta.dirname, '..')

interface GeneratedFile {
  path: string
  print(): string
}

/** Every file in the repository that sources determine. */
const GENERATED_FILES: readonly GeneratedFile[] = [
  { path: 'sluice.schema.json', print: printConfigSchema },
  { path: 'schema/schema.graphql', print: printGraphqlSchema },
]

/** For editors, which know draft 7 best. */
function printConfigSchema(): string {
  const schema = z.toJSONSchema(ConfigFile, { io: 'input', target: 'draft-7' })
  return `${JSON.stringify({ title: 'sluice.yaml', ...schema }, null, 2)}\n`
}

const checkOnly = process.argv.includes('--check')
const stale: string[] = []
for (const { path, print } of GENERATED_FILES) {
  const content = print()
  if ((await readFile(join(ROOT, path), 'utf8').catch(() => '')) === content) continue
  stale.push(path)
  if (!checkOnly) await writeFile(join(ROOT, path), content)
}
if (stale.length > 0) console.log(`${checkOnly ? 'Out of date, run npm run generate' : 'Written'}: ${stale.join(', ')}`)
process.exitCode = checkOnly && stale.length > 0 ? 1 : 0
