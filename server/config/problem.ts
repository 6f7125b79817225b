/** Everything that is wrong with the configuration, in one error: an operator mends it in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
    super(`The configuration has ${count}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** One thing wrong in the configuration file: where, and what to do about it. */
export interface FileProblem {
  path: readonly (string | number)[]
  message: string
}

/** `models[0].providers[1].id`, as people write it. */
export function formatPath(path: readonly (string | number)[]): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('')
}
