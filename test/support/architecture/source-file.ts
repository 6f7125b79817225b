import { posix } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'

/** What the rules look at in one source file. */
export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  path: string
  lineCount: number
  imports: SourceImport[]
  /** `process.env`, `console`, `Date.now()`, `new Date()`, `as any` and the like, where they stand. */
  features: { feature: Feature; line: number }[]
  comments: { text: string; line: number }[]
}

export interface SourceImport {
  /** Path from the root for a relative import, else the package or `node:` name. */
  target: string
  isRelative: boolean
  typeOnly: boolean
  line: number
}

export type Feature =
  | 'process.env'
  | 'console'
  | 'current time'
  | 'default export'
  | 'any'
  | 'double assertion'
  | 'non-null assertion'

export function parseSource(path: string, source: string): SourceFile {
  const { program, module, comments, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join('; ')}`)
  const lineOf = (offset: number) => source.slice(0, offset).split('\n').length
  const toImport = (specifier: string, typeOnly: boolean, offset: number): SourceImport => ({
    target: specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier,
    isRelative: specifier.startsWith('.'),
    typeOnly,
    line: lineOf(offset),
  })
  const imports = module.staticImports.map(({ moduleRequest, entries, start }) =>
    toImport(moduleRequest.value, entries.length > 0 && entries.every(({ isType }) => isType), start),
  )
  const entries = module.staticExports.flatMap((statement) => statement.entries)
  for (const { moduleRequest, isType, start } of entries) {
    if (moduleRequest !== null) imports.push(toImport(moduleRequest.value, isType, start))
  }
  const features: SourceFile['features'] = []
  const add = (feature: Feature, node: { start: number }) => features.push({ feature, line: lineOf(node.start) })
  new Visitor({
    ...featureVisitor(add),
    ImportExpression: ({ source: request, start }) => {
      if (request.type === 'Literal') imports.push(toImport(String(request.value), false, start))
    },
    TSImportType: ({ source: request, start }) => imports.push(toImport(request.value, true, start)),
  }).visit(program)
  return {
    path,
    lineCount: source.trimEnd().split('\n').length,
    imports,
    features,
    comments: comments.map(({ value, start }) => ({ text: value, line: lineOf(start) })),
  }
}

function featureVisitor(
  add: (feature: Feature, node: { start: number }) => void,
): ConstructorParameters<typeof Visitor>[0] {
  return {
    MemberExpression(node) {
      const { object, property } = node
      if (object.type !== 'Identifier') return
      const name = property.type === 'Identifier' ? property.name : property.type === 'Literal' ? property.value : ''
      if (object.name === 'process' && name === 'env') add('process.env', node)
      if (object.name === 'console') add('console', node)
    },
    CallExpression(node) {
      const { callee } = node
      const isNow =
        callee.type === 'MemberExpression' && callee.property.type === 'Identifier' && callee.property.name === 'now'
      if (isNow && callee.object.type === 'Identifier' && callee.object.name === 'Date') add('current time', node)
    },
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date' && node.arguments.length === 0)
        add('current time', node)
    },
    VariableDeclarator(node) {
      if (node.init?.type === 'Identifier' && node.init.name === 'process' && node.id.type === 'ObjectPattern')
        add('process.env', node)
    },
    ImportDeclaration(node) {
      if (!/^(node:)?process$/.test(node.source.value)) return
      if (node.specifiers.some((specifier) => specifier.type === 'ImportSpecifier' && specifier.local.name === 'env')) {
        add('process.env', node)
      }
    },
    ExportDefaultDeclaration: (node) => add('default export', node),
    ExportSpecifier(node) {
      if (node.exported.type === 'Identifier' && node.exported.name === 'default') add('default export', node)
    },
    TSAnyKeyword: (node) => add('any', node),
    TSNonNullExpression: (node) => add('non-null assertion', node),
    TSAsExpression(node) {
      if (node.expression.type === 'TSAsExpression') add('double assertion', node)
    },
  }
}
