import { isMap, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import type { InterpolationSource } from '../env.ts'
import { type FileProblem, formatPath } from '../problem.ts'
import { findReferenceProblems, findStakingProblems } from './cross-checks.ts'
import { interpolate } from './interpolate.ts'
import { findRpcProblems } from './rpc-checks.ts'
import { ConfigFile } from './schema.ts'

export type ParsedFile = { kind: 'valid'; file: ConfigFile } | { kind: 'invalid'; problems: string[] }

/** Reads the text of a configuration file; everything wrong with it comes back at once, each with its line. */
export function parseConfigFile(text: string, source: InterpolationSource): ParsedFile {
  const lines = new LineCounter()
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  if (yaml.errors.length > 0) {
    return {
      kind: 'invalid',
      problems: yaml.errors.map((error) => `line ${lines.linePos(error.pos[0]).line}: ${error.message}`),
    }
  }
  const { document, problems: unset } = interpolate(yaml.toJS() ?? {}, source)
  const parsed = ConfigFile.safeParse(document)
  const faults = parsed.success ? [] : toProblems(parsed.error.issues)
  const problems = [
    ...unset,
    ...faults.filter((fault) => !unset.some(({ path }) => formatPath(path) === formatPath(fault.path))),
    ...findReferenceProblems(document),
    ...findRpcProblems(document),
    ...findStakingProblems(document),
  ]
  if (parsed.success && problems.length === 0) return { kind: 'valid', file: parsed.data }
  return { kind: 'invalid', problems: problems.map((problem) => describe(problem, yaml, lines)) }
}

interface Issue {
  code?: string | undefined
  path: PropertyKey[]
  message: string
  keys?: string[]
  /** What is wrong with a key of a record. */
  issues?: readonly { message: string }[]
}

function toProblems(issues: readonly Issue[]): FileProblem[] {
  return issues.flatMap(({ code, path, message, keys, issues: keyIssues }) => {
    const steps = path.map((step) => (typeof step === 'number' ? step : String(step)))
    if (code === 'invalid_key') return [{ path: steps, message: keyIssues?.[0]?.message ?? message }]
    if (code !== 'unrecognized_keys' || keys === undefined) return [{ path: steps, message }]
    return keys.map((key) => ({ path: [...steps, key], message: 'there is no such setting' }))
  })
}

function describe({ path, message }: FileProblem, yaml: Document, lines: LineCounter): string {
  const offset = findOffset(path, yaml)
  const place = offset === undefined ? '' : `line ${lines.linePos(offset).line}: `
  return `${place}${path.length === 0 ? '' : `${formatPath(path)}: `}${message}`
}

/** Where the deepest part of the path that the document has begins; a missing setting is looked for in its parent. */
function findOffset(path: readonly (string | number)[], yaml: Document): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const parent: unknown = length === 1 ? yaml.contents : yaml.getIn(path.slice(0, length - 1), true)
    const step = path[length - 1]
    const pair = isMap(parent) ? parent.items.find(({ key }) => String(key) === String(step)) : undefined
    const node: unknown = pair?.key ?? (isSeq(parent) ? parent.items[Number(step)] : undefined)
    const offset = rangeStart(node)
    if (offset !== undefined) return offset
  }
  return undefined
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) return undefined
  const start: unknown = node.range[0]
  return typeof start === 'number' ? start : undefined
}
