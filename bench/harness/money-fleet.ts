import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { PairsOptions } from './money-pairs.ts'

export interface MoneyFleet extends Disposable {
  /** Runs each process's share concurrently; returns the milliseconds of all pairs. */
  run(shares: readonly PairsOptions[]): Promise<number[]>
}

/** Several processes with a money path each, on one database. */
export async function startMoneyFleet(
  count: number,
  { url, signal }: { url: string; signal: AbortSignal },
): Promise<MoneyFleet> {
  const file = fileURLToPath(new URL('money-process.ts', import.meta.url))
  const children = Array.from({ length: count }, () => fork(file, [url], { serialization: 'advanced' }))
  const kill = (): void => {
    for (const child of children) child.kill()
  }
  signal.addEventListener('abort', kill, { once: true })
  await Promise.all(children.map((child) => once(child, 'message')))
  return {
    run: async (shares) => {
      const results = await Promise.all(
        shares.map((share, index) => {
          const child = children[index]
          if (child === undefined) throw new Error(`only ${count} processes were started`)
          return runOne(child, share)
        }),
      )
      return results.flat()
    },
    [Symbol.dispose]: () => {
      signal.removeEventListener('abort', kill)
      for (const child of children) child.disconnect()
    },
  }
}

async function runOne(child: ChildProcess, share: PairsOptions): Promise<number[]> {
  const answer = once(child, 'message') as Promise<[number[]]>
  child.send(share)
  const [latenciesMs] = await answer
  return latenciesMs
}
