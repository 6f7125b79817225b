/** A JSON value that keeps what `JSON.parse` loses: duplicate members, their order and the raw text of each value. */
export interface ReferenceNode {
  kind: 'object' | 'array' | 'string' | 'number' | 'word'
  raw: string
  members: { name: string; value: ReferenceNode }[]
  elements: ReferenceNode[]
  depth: number
}

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+)/gsy

/** Parses text that `JSON.parse` has accepted; slow and plain on purpose. */
export function parseReference(text: string): ReferenceNode {
  const tokens: { text: string; start: number; end: number }[] = []
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const token = match[1] ?? ''
    tokens.push({ text: token, start: TOKEN.lastIndex - token.length, end: TOKEN.lastIndex })
  }
  let next = 0
  const take = () => tokens[next++]!
  const value = (): ReferenceNode => {
    const first = take()
    const node: ReferenceNode = { kind: 'word', raw: '', members: [], elements: [], depth: 0 }
    if (first.text === '{' || first.text === '[') {
      node.kind = first.text === '{' ? 'object' : 'array'
      while (tokens[next]?.text !== '}' && tokens[next]?.text !== ']') {
        if (tokens[next]?.text === ',') next += 1
        if (node.kind === 'object') {
          const name = JSON.parse(take().text) as string
          next += 1
          node.members.push({ name, value: value() })
        } else {
          node.elements.push(value())
        }
      }
      next += 1
      const inner = [...node.elements, ...node.members.map((member) => member.value)]
      node.depth = 1 + inner.reduce((deepest, child) => Math.max(deepest, child.depth), 0)
    } else if (first.text.startsWith('"')) node.kind = 'string'
    else if (/^[-\d]/.test(first.text)) node.kind = 'number'
    node.raw = text.slice(first.start, tokens[next - 1]!.end)
    return node
  }
  return value()
}
