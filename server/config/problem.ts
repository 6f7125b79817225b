/** All problems of the configuration in one error, so an operator can fix them at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
    super(`The configuration has ${count}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** One problem in the configuration file: its place, and how to fix it. */
export interface FileProblem {
  path: readonly (string | number)[]
  message: string
}

/** Formats a path like `models[0].providers[1].id`. */
export function formatPath(path: readonly (string | number)[]): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('')
}
