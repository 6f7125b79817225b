import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endWithWorker } from './end-with-worker.ts'

export interface AnvilNode extends AsyncDisposable {
  url: string
  close(): Promise<void>
}

/** A real EVM node on a free port, with any chain id and any time. The binary is started directly, so no install script is needed. */
export async function startAnvil({
  chainId = 31_337,
  startsAt,
}: {
  chainId?: number
  startsAt?: Date | undefined
} = {}): Promise<AnvilNode> {
  const binary = fileURLToPath(import.meta.resolve('@foundry-rs/anvil-linux-amd64/bin/anvil'))
  const clock = startsAt === undefined ? [] : ['--timestamp', String(startsAt.getTime() / 1_000)]
  const options = ['--port', '0', '--chain-id', String(chainId), ...clock]
  const child = spawn(binary, options, { stdio: ['ignore', 'pipe', 'inherit'] })
  const forget = endWithWorker(() => child.kill('SIGKILL'))
  const exited = once(child, 'close').then(forget)
  const close = async (): Promise<void> => {
    child.kill()
    await exited
  }
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /Listening on (\S+)/.exec(line)?.[1]
    if (address === undefined) continue
    // The log goes on; an unread pipe would stop the node.
    child.stdout.resume()
    return { url: `http://${address}/`, close, [Symbol.asyncDispose]: close }
  }
  await exited
  throw new Error('anvil ended before it listened')
}
