import type { DocumentNode } from 'graphql'
import { LRUCache } from 'lru-cache'

const DOCUMENTS_MAX = 1_000
const CHARACTERS_MAX = 4 * 1024 * 1024
const DOCUMENT_CHARACTERS_MAX = 16 * 1024

/**
 * Parsed documents by their text, so a client's few operations are parsed and validated once. Limited by size as well
 * as by number, because callers choose the texts. Documents that do not parse are cheap and not cached.
 */
export function createDocumentCache() {
  const documents = new LRUCache<string, DocumentNode>({
    max: DOCUMENTS_MAX,
    maxSize: CHARACTERS_MAX,
    maxEntrySize: DOCUMENT_CHARACTERS_MAX,
    sizeCalculation: (_document, text) => Math.max(1, text.length),
  })
  return {
    documentCache: {
      get: (text: string) => documents.get(text),
      set: (text: string, document: DocumentNode) => void documents.set(text, document),
    },
    errorCache: { get: () => undefined, set: () => {} },
  }
}
