/** Text below a command's options: whole command lines to copy. */
export function examples(...lines: string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  sluice ${line}`)].join('\n')
}
