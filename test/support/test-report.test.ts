import { describe, expect, it } from 'vitest'
import { formatSummary, summarize } from './test-report.ts'

const test = (fullName: string, status: string) => ({ fullName, status })
const file = (status: string, ...assertionResults: ReturnType<typeof test>[]) => ({
  name: '/project/test/a.test.ts',
  status,
  assertionResults,
})
const summaryOf = (testResults: ReturnType<typeof file>[], succeeded = true) =>
  summarize({ testResults }, { succeeded, root: '/project' })

describe('the closing line of npm test', () => {
  it('counts tests over all files', () => {
    const files = [
      file('passed', test('a', 'passed'), test('b', 'passed')),
      file('failed', test('c', 'failed'), test('d', 'passed')),
    ]
    expect(formatSummary(summaryOf(files, false))).toBe('3 passed, 1 failed')
  })

  it('comes after the list of skipped tests, alone on its line', () => {
    const files = [file('passed', test('a', 'passed'), test('redis shares windows', 'skipped'), test('c', 'pending'))]
    expect(formatSummary(summaryOf(files)).split('\n')).toEqual([
      '2 skipped:',
      '  test/a.test.ts: redis shares windows',
      '  test/a.test.ts: c',
      '',
      '1 passed, 0 failed',
    ])
  })

  it('counts a file that does not load as a failure', () => {
    expect(summaryOf([file('passed', test('a', 'passed')), file('failed')], false)).toMatchObject({
      passed: 1,
      failed: 1,
    })
  })

  it('never says 0 failed when the run itself failed', () => {
    expect(summaryOf([file('passed', test('a', 'passed'))], false)).toMatchObject({ passed: 1, failed: 1 })
    expect(summaryOf([], false)).toMatchObject({ passed: 0, failed: 1 })
  })
})
