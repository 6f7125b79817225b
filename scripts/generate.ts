import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GENERATED_FILES } from './generated-files.ts'

const ROOT = join(import.meta.dirname, '..')

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
