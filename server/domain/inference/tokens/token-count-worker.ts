import { parentPort } from 'node:worker_threads'
import { loadTokenCount } from './exact-token-count.ts'

/** A thread that counts tokens: one message with a text, one with its count. */
const count = await loadTokenCount()
parentPort?.on('message', ({ id, text }: { id: number; text: string }) => {
  parentPort?.postMessage({ id, count: count(text) }, [])
})
