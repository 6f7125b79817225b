import { parentPort } from 'node:worker_threads'
import { loadTokenCount } from './exact-token-count.ts'

/** Worker thread: receives one text per message and replies with its token count. */
const count = await loadTokenCount()
parentPort?.on('message', ({ id, text }: { id: number; text: string }) => {
  parentPort?.postMessage({ id, count: count(text) }, [])
})
