import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { printableStreams, printFields, printJson, printTable } from '../../../client/cli/output.ts'

const HOSTILE = 'a\u001b[31m\u0007\n\u009b\u202eb\u200b\u{e0041}'
const SHOWN = 'a\\u001b[31m\\u0007\\u000a\\u009b\\u202eb\\u200b\\udb40\\udc41'

function record() {
  const written = { stdout: '', stderr: '' }
  const streams = printableStreams({
    stdout: (text) => void (written.stdout += text),
    stderr: (text) => void (written.stderr += text),
  })
  return { written, streams }
}

it('tables and fields show control, bidirectional and zero-width characters as escapes', () => {
  const { written, streams } = record()
  printTable(streams, [{ name: HOSTILE, tier: 'XS' }])
  printFields(streams, { name: HOSTILE })
  expect(written.stdout).toBe(`NAME${' '.repeat(SHOWN.length - 4)}  TIER\n${SHOWN}  XS\nname  ${SHOWN}\n`)
})

it('JSON stays the same JSON without such characters', () => {
  const { written, streams } = record()
  printJson(streams, { name: HOSTILE })
  expect(JSON.parse(written.stdout)).toEqual({ name: HOSTILE })
  expect(written.stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
})

it('messages keep their lines and escape the rest', () => {
  const { written, streams } = record()
  streams.stderr('sluice: one\ntwo \u001b]0;title\u0007\n')
  expect(written.stderr).toBe('sluice: one\ntwo \\u001b]0;title\\u0007\n')
})

it('a command whose reader has gone ends without a stack trace', async () => {
  const main = fileURLToPath(new URL('../../../client/cli/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
})
