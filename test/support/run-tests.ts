import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRunName, dropRun, findPostgres } from './postgres.ts'
import { formatSummary, summarize, TestReport } from './test-report.ts'

const ROOT = join(import.meta.dirname, '../..')
const VITEST = join(fileURLToPath(import.meta.resolve('vitest/package.json')), '../vitest.mjs')
const COMPILED = join(ROOT, 'node_modules/.cache/sluice-tests/compiled')

const folder = await mkdtemp(join(tmpdir(), 'sluice-tests-'))
const reportPath = join(folder, 'report.json')
const runName = createRunName()
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`]
const child = spawn(process.execPath, [VITEST, 'run', ...reporters, ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
  // Workers and the servers that tests start take code as the last run has compiled it.
  env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, SLUICE_TEST_RUN: runName },
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const [exitCode] = await once(child, 'exit')

// A run that was interrupted has not dropped its databases.
const postgres = await findPostgres()
if (!('missing' in postgres)) await dropRun({ adminUrl: postgres.adminUrl, runName })

const text = await readFile(reportPath, 'utf8').catch(() => '{"testResults":[]}')
await rm(folder, { recursive: true })
const summary = summarize(TestReport.parse(JSON.parse(text)), { succeeded: exitCode === 0, root: ROOT })
console.log(formatSummary(summary))
process.exitCode = summary.failed === 0 ? 0 : 1
