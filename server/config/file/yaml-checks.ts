import { type Document, isAlias, isCollection, isNode, isPair, isScalar, type Node, visit, type YAMLMap } from 'yaml'

const ALIASES_MAX = 100
/** Values of the document with every alias expanded. */
const VALUES_MAX = 200_000
const DECIMAL = /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/

/** One problem of the text itself, before its meaning is known. */
export interface TextProblem {
  offset: number
  message: string
}

/**
 * Reports YAML that no configuration needs: unbounded aliases, settings given twice, and numbers that a double cannot
 * hold.
 */
export function findYamlProblems(yaml: Document): TextProblem[] {
  return [...findAliasProblems(yaml), ...findRepeatedKeys(yaml), ...findImpreciseNumbers(yaml)]
}

/** The parser's own check compares each key with all others before it. */
function findRepeatedKeys(yaml: Document): TextProblem[] {
  const problems: TextProblem[] = []
  const check = (_key: unknown, { items }: YAMLMap): void => {
    const seen = new Set<string>()
    for (const { key } of items) {
      const name = String(key)
      if (seen.has(name)) problems.push({ offset: offsetOf(key), message: `${name} is duplicated` })
      seen.add(name)
    }
  }
  visit(yaml, { Map: check })
  return problems
}

function offsetOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0
}

function findAliasProblems(yaml: Document): TextProblem[] {
  const anchors = new Map<string, Node>()
  const sizes = new Map<Node, number>()
  const problems: TextProblem[] = []
  let aliases = 0
  const report = (node: Node, message: string): number => {
    problems.push({ offset: offsetOf(node), message })
    return 0
  }
  /** Values under a node; an anchor stands for its node from there on, so its size is known once it is used. */
  const measure = (node: unknown): number => {
    if (isPair(node)) return measure(node.key) + measure(node.value)
    if (!isNode(node) || problems.length > 0) return 0
    if (isAlias(node)) {
      aliases += 1
      if (aliases > ALIASES_MAX) return report(node, `there are more than ${ALIASES_MAX} aliases`)
      const target = anchors.get(node.source)
      const size = target === undefined ? 0 : sizes.get(target)
      return size ?? report(node, `*${node.source} is inside the value that it repeats`)
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node)
    let size = 1
    for (const item of isCollection(node) ? node.items : []) size += measure(item)
    if (size > VALUES_MAX) return report(node, `with its aliases in full this has more than ${VALUES_MAX} values`)
    sizes.set(node, size)
    return size
  }
  measure(yaml.contents)
  return problems
}

/** Numbers are doubles: one with too many digits would silently become another number. */
function findImpreciseNumbers(yaml: Document): TextProblem[] {
  const problems: TextProblem[] = []
  visit(yaml, {
    Scalar: (_key, node) => {
      if (!isScalar(node) || typeof node.value !== 'number' || typeof node.source !== 'string') return
      const written = canonical(node.source)
      if (written === undefined || written === canonical(String(node.value))) return
      problems.push({
        offset: offsetOf(node),
        message: `the number ${shortened(node.source)} would be rounded to ${node.value}; use at most 15 digits`,
      })
    },
  })
  return problems
}

/**
 * Sign, digits without zeros at either end, and the power of ten of the last digit; undefined if the text is not a
 * decimal number.
 */
function canonical(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? []
  if (sign === undefined || whole + fraction === '') return undefined
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const power = Number(exponent) - fraction.length + digits.length - significant.length
  return `${sign === '-' ? '-' : ''}${significant}e${power}`
}

function shortened(source: string): string {
  return source.length > 40 ? `${source.slice(0, 40)}…` : source
}
