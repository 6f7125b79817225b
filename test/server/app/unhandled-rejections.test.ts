import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MODULE = new URL('../../../server/app/unhandled-rejections.ts', import.meta.url)

test('a failure for which nobody waits is logged, and the process continues', async () => {
  const script = `
    import { logUnhandledRejections } from ${JSON.stringify(MODULE.href)}
    const log = (message, { error }) => console.log(message + ': ' + error.message)
    logUnhandledRejections({ info: log, warn: log, error: log })
    Promise.reject(new Error('no code there'))
    setImmediate(() => console.log('still here'))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  expect(stdout.trim().split('\n')).toEqual([
    'a call failed without a handler for its error: no code there',
    'still here',
  ])
})
