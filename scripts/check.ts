import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const TOOLS = join(ROOT, 'node_modules/.bin')

const CHECKS: readonly { name: string; command: string; args: readonly string[] }[] = [
  { name: 'format', command: join(TOOLS, 'biome'), args: ['check', '.'] },
  { name: 'lint', command: join(TOOLS, 'oxlint'), args: ['--type-aware', '--quiet'] },
  { name: 'types', command: join(TOOLS, 'tsc'), args: ['--noEmit'] },
  { name: 'unused code', command: join(TOOLS, 'knip'), args: [] },
  { name: 'generated files', command: process.execPath, args: [join(ROOT, 'scripts/generate.ts'), '--check'] },
]

interface Outcome {
  passed: boolean
  output: string
}

/** The tools' own first lines say `env node`, so this Node goes first on their PATH. */
function run(command: string, args: readonly string[]): Promise<Outcome> {
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, PATH: path } })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ passed: false, output: `${command}: ${error.message}` }))
    child.once('close', (code) => resolve({ passed: code === 0, output: Buffer.concat(chunks).toString().trim() }))
  })
}

const outcomes = CHECKS.map(({ command, args }) => run(command, args))
let failed = 0
for (const [index, { name }] of CHECKS.entries()) {
  const outcome = await outcomes[index]
  if (outcome?.passed) {
    console.log(`ok      ${name}`)
  } else {
    failed++
    console.log(`FAILED  ${name}\n${outcome?.output ?? ''}\n`)
  }
}
process.exitCode = failed === 0 ? 0 : 1
