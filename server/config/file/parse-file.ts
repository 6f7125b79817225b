import { type Document, isMap, isSeq, LineCounter, parseDocument, type YAMLError } from 'yaml'
import { safeParseDescribed } from '../../domain/validation/described.ts'
import type { InterpolationSource } from '../env.ts'
import { type FileProblem, formatPath } from '../problem.ts'
import { findReferenceProblems, findStakingProblems } from './cross-checks.ts'
import { interpolate } from './interpolate.ts'
import { findRpcProblems } from './rpc-checks.ts'
import { ConfigFile } from './schema.ts'
import { findYamlProblems, type TextProblem } from './yaml-checks.ts'

/** Far above any catalogue: a thousand models take half of it. */
const FILE_CHARACTERS_MAX = 2 * 1024 * 1024
/** Finding the line of each problem requires a search through the document. */
const REPORTED_MAX = 100

export type ParsedFile = { kind: 'valid'; file: ConfigFile } | { kind: 'invalid'; problems: string[] }

/** Parses the text of a configuration file; reports all problems at once, each with its line. */
export function parseConfigFile(text: string, source: InterpolationSource): ParsedFile {
  if (text.length > FILE_CHARACTERS_MAX) {
    const message = `the file has ${text.length} characters; the maximum is ${FILE_CHARACTERS_MAX}`
    return { kind: 'invalid', problems: [message] }
  }
  const lines = new LineCounter()
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  const unreadable = [...yaml.errors.map(toTextProblem), ...(yaml.errors.length > 0 ? [] : findYamlProblems(yaml))]
  if (unreadable.length > 0) {
    const problems = unreadable.map(({ offset, message }) => `line ${lines.linePos(offset).line}: ${message}`)
    return { kind: 'invalid', problems: shortList(problems, (problem) => problem) }
  }
  const { document, problems: unset } = interpolate(yaml.toJS() ?? {}, source)
  const parsed = safeParseDescribed(ConfigFile, document)
  const faults = parsed.success ? [] : toProblems(parsed.error.issues)
  const unsetPaths = new Set(unset.map(({ path }) => formatPath(path)))
  const problems = [
    ...unset,
    ...faults.filter(({ path }) => !unsetPaths.has(formatPath(path))),
    ...findReferenceProblems(document),
    ...findRpcProblems(document),
    ...findStakingProblems(document),
  ]
  if (parsed.success && problems.length === 0) return { kind: 'valid', file: parsed.data }
  return { kind: 'invalid', problems: shortList(problems, (problem) => describe(problem, yaml, lines)) }
}

/** The parser reports a document that is nested too deeply as its own stack overflow. */
function toTextProblem({ pos, message }: YAMLError): TextProblem {
  return { offset: pos[0], message: message.includes('call stack') ? 'the document is nested too deeply' : message }
}

function shortList<Problem>(problems: readonly Problem[], toText: (problem: Problem) => string): string[] {
  const texts = problems.slice(0, REPORTED_MAX).map(toText)
  const rest = problems.length - texts.length
  return rest > 0 ? [...texts, `and ${rest} more`] : texts
}

interface Issue {
  code?: string | undefined
  path: PropertyKey[]
  message: string
  keys?: string[]
  /** Problems of a key of a record. */
  issues?: readonly { message: string }[]
}

function toProblems(issues: readonly Issue[]): FileProblem[] {
  return issues.flatMap(({ code, path, message, keys, issues: keyIssues }) => {
    const steps = path.map((step) => (typeof step === 'number' ? step : String(step)))
    if (code === 'invalid_key') return [{ path: steps, message: keyIssues?.[0]?.message ?? message }]
    if (code !== 'unrecognized_keys' || keys === undefined) return [{ path: steps, message }]
    return keys.map((key) => ({ path: [...steps, key], message: 'unknown setting' }))
  })
}

function describe({ path, message }: FileProblem, yaml: Document, lines: LineCounter): string {
  const offset = findOffset(path, yaml)
  const place = offset === undefined ? '' : `line ${lines.linePos(offset).line}: `
  return `${place}${path.length === 0 ? '' : `${formatPath(path)}: `}${message}`
}

/** Offset of the deepest existing part of the path; a missing setting is reported at its parent. */
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
