import { describe, expect, it } from 'vitest'
import { parseConfigFile } from '../../../server/config/file/parse-file.ts'

const problemsOf = (text: string, source = {}) => {
  const parsed = parseConfigFile(text, source)
  return parsed.kind === 'invalid' ? parsed.problems : []
}
const model = (settings: string) => `
providers: [{ id: main, kind: sandbox }]
models:
  - ${settings}
    type: text
    providers: [{ id: main, model: m }]
`

describe('aliases', () => {
  it('repeat a value that is written once', () => {
    const text = `
models:
  - { id: a, type: text, providers: &served [{ id: main, model: m }] }
  - { id: b, type: text, providers: *served }
providers: [{ id: main, kind: sandbox }]
`
    expect(parseConfigFile(text, {})).toMatchObject({
      file: { models: [{ id: 'a' }, { providers: [{ id: 'main' }] }] },
    })
  })

  it('are rejected with the line if they multiply', () => {
    const lists = 'bcdefghij'
      .split('')
      .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[index]}`).join(', ')}]`)
    const text = ['a: &a [x, x, x, x, x, x, x, x, x]', ...lists].join('\n')
    expect(problemsOf(text)).toEqual(['line 6: with its aliases in full this has more than 200000 values'])
  })

  it('are rejected with the line if there are more than 100', () => {
    const text = `service: &s {}\nmodels:\n${'  - *s\n'.repeat(101)}`
    expect(problemsOf(text)).toEqual(['line 103: there are more than 100 aliases'])
  })

  it.each(['service: &a\n  name: *a\n', 'models:\n  - &a [*a]\n', 'x: &a { y: &b { z: *a } }\n'])(
    'are rejected with the line if they stand inside the value that they repeat: %j',
    (text) => {
      expect(problemsOf(text)).toEqual([expect.stringMatching(/^line \d: \*a is inside the value that it repeats$/)])
    },
  )
})

describe('the size of a file', () => {
  it('is bounded', () => {
    expect(problemsOf(`# ${'x'.repeat(2_100_000)}`)).toEqual([expect.stringContaining('the maximum is 2097152')])
  })

  it('does not decide how many problems are printed', () => {
    const problems = problemsOf(Array.from({ length: 1_000 }, (_, index) => `k${index}: 1`).join('\n'))
    expect([problems.length, problems[0], problems.at(-1)]).toEqual([
      101,
      'line 1: k0: unknown setting',
      'and 900 more',
    ])
  })

  it('rejects a document that is nested too deeply', () => {
    expect(problemsOf(`a: ${'[ '.repeat(5_000)}`)[0]).toBe('line 1: the document is nested too deeply')
  })
})

describe('references to variables', () => {
  it.each([
    ['without an end', '${'.repeat(50_000), '"${" has no matching "}"; write $${ for a literal "${"'],
    ['with one end', `${'${x'.repeat(50_000)}}`, '"x${x${x${x${x${x${x${x${x${x${x${x${x${x…" is not the name'],
    ['with quotes', `${"${'x".repeat(50_000)}}`, 'is not the name of an environment variable'],
    ['that are many', '${A-B}'.repeat(50_000), '"A-B" is not the name of an environment variable'],
  ])('are reported once a value, with the line: %s', (_, text, message) => {
    const problems = problemsOf(`service:\n  docsUrl: "${text}"`)
    expect(problems).toEqual([expect.stringContaining('line 2: service.docsUrl: "')])
    expect(problems[0]).toContain(message)
  })

  it('are replaced side by side, and a doubled dollar sign stands for one', () => {
    const text = 'providers: [{ id: "${A}${B}-$${A}-$$${A}", kind: sandbox }]'
    expect(parseConfigFile(text, { A: 'one', B: '${A}' })).toMatchObject({
      file: { providers: [{ id: 'one${A}-${A}-$${A}' }] },
    })
  })
})

describe('ids and names', () => {
  it.each([
    ['NUL', '\\0', 'U+0000'],
    ['an escape sequence', '\\e[31m', 'U+001B'],
    ['C1 controls', '\\u009b', 'U+009B'],
    ['a right-to-left override', '\\u202e', 'U+202E'],
    ['an isolate', '\\u2066', 'U+2066'],
    ['a zero-width space', '\\u200b', 'U+200B'],
    ['a byte order mark', '\\ufeff', 'U+FEFF'],
    ['a line separator', '\\u2028', 'U+2028'],
    ['a filler', '\\u3164', 'U+3164'],
  ])('are rejected with the line and the character if they hold %s', (_, character, name) => {
    const rule = `must not contain control, bidirectional or zero-width characters; ${name} is at position 1`
    expect(problemsOf(model(`id: "a${character}b"`))).toEqual([`line 4: models[0].id: ${rule}`])
    expect(problemsOf(`providers: [{ id: "a${character}b", kind: sandbox }]`)).toEqual([
      `line 1: providers[0].id: ${rule}`,
    ])
    expect(problemsOf(model(`id: a\n    name: "a${character}b"`))).toEqual([`line 5: models[0].name: ${rule}`])
  })

  it('may be of any script, and a description may have lines', () => {
    expect(problemsOf(model('id: "模型-é-😀"\n    description: "one\\n\\ttwo"'))).toEqual([])
  })
})

describe('numbers', () => {
  const priced = (usd: string) => model(`id: a\n    pricing: { input: { usd: ${usd} } }`)

  it.each([
    ['9007199254740993', 'line 5: the number 9007199254740993 would be rounded to 9007199254740992; use at most 15'],
    ['0.1000000000000000055', 'line 5: the number 0.1000000000000000055 would be rounded to 0.1; use at most 15'],
    ['1000001', 'line 5: models[0].pricing.input.usd: a price must be at most 1000000 USD'],
    ['999999999999999', 'line 5: models[0].pricing.input.usd: a price must be at most 1000000 USD'],
    ['0.0000001', 'line 5: models[0].pricing.input: a price must have at most 6 decimals'],
    ['.inf', 'line 5: models[0].pricing.input.usd: '],
  ])('are rejected with the line and the fix if a price of %s does not fit', (usd, problem) => {
    expect(problemsOf(priced(usd))).toEqual([expect.stringContaining(problem)])
  })

  it.each(['0', '0.15', '1e-6', '1000000', '1_5', '0.10', '+2.50'])('may be written as %s', (usd) => {
    expect(problemsOf(priced(usd)).filter((problem) => problem.includes('would be read'))).toEqual([])
  })

  it.each([
    ['contextTokens', 100_000_001, '100000000'],
    ['maxCompletionTokens', 10_000_001, '10000000'],
  ])('bound %s', (setting, value, limit) => {
    expect(problemsOf(model(`id: a\n    ${setting}: ${value}`))).toEqual([expect.stringContaining(limit)])
  })
})
