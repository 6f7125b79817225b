import { fileURLToPath } from 'node:url'
import { type ServerProcess, startServerProcess } from './server-process.ts'

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The model server behind every contender; it sends each event of a stream separately, as models do. */
export function startProvider(): Promise<ServerProcess> {
  return startServerProcess({
    name: 'provider',
    args: (port) => [pathOf('../../test/support/provider-server.ts'), '--port', String(port), '--spread'],
    readyPath: '/v1/models',
  })
}

export function startFakeNode(): Promise<ServerProcess> {
  return startServerProcess({
    name: 'node',
    args: (port) => [pathOf('../floor/fake-node.ts'), '--port', String(port)],
  })
}

export function startBareProxy(upstream: ServerProcess): Promise<ServerProcess> {
  return startServerProcess({
    name: 'bare proxy',
    args: (port) => [pathOf('../floor/bare-proxy.ts'), '--port', String(port), '--upstream', upstream.origin],
  })
}

export function startPortkey(): Promise<ServerProcess> {
  const folder = pathOf('../node_modules/@portkey-ai/gateway')
  return startServerProcess({
    name: 'portkey',
    args: (port) => [
      '--import',
      pathOf('../floor/loopback-only.ts'),
      `${folder}/build/start-server.js`,
      '--headless',
      `--port=${port}`,
    ],
    env: { NODE_ENV: 'production' },
  })
}
