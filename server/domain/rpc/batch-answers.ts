/** Raw id of a request or response; null if there is none. */
type RawId = string | null

/**
 * Finds the position of the response to each request of a batch, or null. Nodes may reorder or omit responses and round
 * ids beyond 2^53. So ids are compared as text, then as numbers; the rest is paired in order only if none is missing,
 * because a response to the wrong request would be worse than none.
 */
export function matchAnswers(requestIds: readonly RawId[], answerIds: readonly RawId[]): (number | null)[] {
  const matches: (number | null)[] = requestIds.map(() => null)
  const taken = new Set<number>()
  for (const toKey of [exactKey, roundedKey]) {
    const positions = positionsByKey(answerIds, { toKey, taken })
    for (const [index, id] of requestIds.entries()) {
      if (matches[index] !== null) continue
      const position = positions.get(toKey(id) ?? '')?.shift()
      if (position === undefined) continue
      matches[index] = position
      taken.add(position)
    }
  }
  const free = [...answerIds.keys()].filter((position) => !taken.has(position))
  const open = [...matches.keys()].filter((index) => matches[index] === null)
  if (free.length === open.length) for (const [nth, index] of open.entries()) matches[index] = free[nth] ?? null
  return matches
}

function positionsByKey(
  ids: readonly RawId[],
  { toKey, taken }: { toKey: (id: RawId) => string | undefined; taken: ReadonlySet<number> },
): Map<string, number[]> {
  const positions = new Map<string, number[]>()
  for (const [position, id] of ids.entries()) {
    const key = toKey(id)
    if (key === undefined || taken.has(position)) continue
    const list = positions.get(key)
    if (list === undefined) positions.set(key, [position])
    else list.push(position)
  }
  return positions
}

/** Equal for equal strings however they are escaped, and for numbers with the same spelling. */
function exactKey(id: RawId): string | undefined {
  if (id === null) return undefined
  return id.includes('\\') ? `"${String(JSON.parse(id))}"` : id
}

function roundedKey(id: RawId): string | undefined {
  return id === null || id.startsWith('"') ? undefined : String(Number(id))
}
