const MAX_CHARACTERS = 32_768
const WORD_WEIGHT = 1
const NGRAM_WEIGHT = 0.4
const NGRAM_CHARACTERS = 3

/**
 * A unit vector of a text's hashed words, word pairs and letter triples (feature hashing): texts that share words or
 * parts of words point in similar directions.
 */
export function hashFeatures(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  const words =
    text
      .slice(0, MAX_CHARACTERS)
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  let previous = ''
  for (const word of words) {
    add(vector, word, WORD_WEIGHT)
    if (previous !== '') add(vector, `${previous} ${word}`, NGRAM_WEIGHT)
    const padded = `^${word}$`
    for (let at = 0; at + NGRAM_CHARACTERS <= padded.length; at += 1) {
      add(vector, padded.slice(at, at + NGRAM_CHARACTERS), NGRAM_WEIGHT)
    }
    previous = word
  }
  return normalise(vector, text)
}

/** The hash's top bit is the sign, so collisions cancel out instead of adding up. */
function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = hash32(feature)
  const index = (hash & 0x7fffffff) % vector.length
  vector[index] = (vector[index] ?? 0) + (hash < 0 ? -weight : weight)
}

/** FNV-1a with a final mix, because its low bits alone are weak. */
function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return hash ^ (hash >>> 13)
}

/** A text without letters or digits gets the direction of its characters. */
function normalise(vector: Float32Array, text: string): Float32Array {
  let length = Math.hypot(...vector)
  if (length === 0) {
    add(vector, text.slice(0, MAX_CHARACTERS), 1)
    length = 1
  }
  return vector.map((value) => value / length)
}
