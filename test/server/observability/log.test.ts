import { describe, expect, it } from 'vitest'
import { createLog } from '../../../server/observability/log.ts'

function logInto(lines: string[]) {
  return createLog('info', { write: (line: string) => void lines.push(line) })
}

describe('createLog', () => {
  it('writes one JSON line with time, level, message and fields', () => {
    const lines: string[] = []
    logInto(lines).warn('redis is gone', { host: 'cache', error: new Error('refused') })
    expect(JSON.parse(lines.join())).toMatchObject({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      msg: 'redis is gone',
      host: 'cache',
      error: { type: 'Error', message: 'refused', stack: expect.any(String) },
    })
  })

  it('keeps credentials out, at the top, one level down and in headers', () => {
    const lines: string[] = []
    logInto(lines).info('request', {
      authorization: 'Bearer hunter2',
      secrets: { operatorToken: 'hunter2', keyPepper: 'hunter2' },
      request: { headers: { authorization: 'hunter2', 'x-payment': 'hunter2', accept: 'text/plain' } },
    })
    expect(lines.join()).not.toContain('hunter2')
    expect(lines.join()).toContain('text/plain')
  })

  it('omits lines below its level', () => {
    const lines: string[] = []
    const log = createLog('error', { write: (line: string) => void lines.push(line) })
    log.info('a')
    log.warn('b')
    log.error('c')
    expect(lines).toHaveLength(1)
  })
})
