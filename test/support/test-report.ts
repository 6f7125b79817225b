import { relative } from 'node:path'
import { z } from 'zod'

/** The part of the JSON reporter's output that the summary reads. */
export const TestReport = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
})
export type TestReport = z.output<typeof TestReport>

export interface TestSummary {
  passed: number
  failed: number
  skipped: string[]
}

/** Counts tests. A file that fails before its tests counts as one failed test, and so does a run that fails without one. */
export function summarize(report: TestReport, { succeeded, root }: { succeeded: boolean; root: string }): TestSummary {
  const tests = report.testResults.flatMap((file) =>
    file.assertionResults.map((test) => ({ ...test, file: file.name })),
  )
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'),
  )
  const failed = tests.filter(({ status }) => status === 'failed').length + brokenFiles.length
  return {
    passed: tests.filter(({ status }) => status === 'passed').length,
    failed: succeeded ? failed : Math.max(failed, 1),
    skipped: tests
      .filter(({ status }) => status !== 'passed' && status !== 'failed')
      .map(({ file, fullName }) => `${relative(root, file)}: ${fullName}`),
  }
}

/** The closing line stands alone, so that a program can read it. */
export function formatSummary({ passed, failed, skipped }: TestSummary): string {
  const notes = skipped.length === 0 ? [] : [`${skipped.length} skipped:`, ...skipped.map((test) => `  ${test}`), '']
  return [...notes, `${passed} passed, ${failed} failed`].join('\n')
}
