import { findDirectionViolations } from './directions.ts'
import { type Feature, parseSource, type SourceFile } from './source-file.ts'

const FILE_LINES_MAX = 400
const TEST_FILE_LINES_MAX = 500

/** Where each feature is at home; nowhere else may it stand. */
const HOMES: Record<Feature, RegExp> = {
  'process.env': /^(server\/config\/env\.ts$|test\/|bench\/|scripts\/)/,
  console: /^(server\/main\.ts$|server\/observability\/log\.ts$|client\/cli\/|test\/|bench\/|scripts\/)/,
  'current time':
    /^(server\/(domain\/clock\.ts$|app\/|db\/|store\/|upstream\/|observability\/)|client\/|test\/|bench\/|scripts\/)/,
  // Tools that demand a default export load these.
  'default export': /\.config\.ts$/,
  any: /^$/,
  'double assertion': /^test\//,
  'non-null assertion': /^(test|bench)\//,
}

const VAGUE_NAMES = /(^|\/)(utils?|helpers?|common|misc)(\.ts|\/)/
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK)\b|not implemented|placeholder/i
const SWITCHED_OFF = /@ts-(ignore|nocheck)|(oxlint|eslint|biome)-(disable|ignore)/

/** Every way in which a source breaks the architecture, as sentences that name the file and the line. */
export function findViolations(path: string, source: string): string[] {
  const file = parseSource(path, source)
  return [
    ...findDirectionViolations(file),
    ...file.features
      .filter(({ feature }) => !HOMES[feature].test(path))
      .map(({ feature, line }) => `${path}:${line} uses ${feature}`),
    ...findCommentViolations(file),
    ...(VAGUE_NAMES.test(path) ? [`${path} has a name that says nothing`] : []),
    ...findLengthViolations(file),
  ]
}

function findCommentViolations({ path, comments }: SourceFile): string[] {
  return comments.flatMap(({ text, line }) => {
    if (SWITCHED_OFF.test(text)) return [`${path}:${line} switches a check off`]
    return UNFINISHED.test(text) && !path.startsWith('test/')
      ? [`${path}:${line} is unfinished by its own comment`]
      : []
  })
}

function findLengthViolations({ path, lineCount }: SourceFile): string[] {
  const max = path.startsWith('test/') ? TEST_FILE_LINES_MAX : FILE_LINES_MAX
  return lineCount > max ? [`${path} has ${lineCount} lines, more than ${max}`] : []
}
