import { createServer, type RequestListener } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { probeLocalModels } from '../../../server/config/local-models.ts'

function listen(answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

describe('probeLocalModels', () => {
  it('finds model servers and passes over ports with something else, nothing, or no response', async () => {
    const models = await listen((request, response) => {
      response.end(
        JSON.stringify({
          object: 'list',
          data: request.url === '/v1/models' ? [{ id: 'a' }, { id: 'b' }, { id: 'a' }] : [],
        }),
      )
    })
    const website = await listen((_, response) => response.end('<html>'))
    const failing = await listen((_, response) => response.writeHead(500).end('{"data":[{"id":"c"}]}'))
    const silent = await listen(() => {})
    // Long enough for a busy machine to respond.
    expect(await probeLocalModels([models, website, failing, silent, 1], 5_000)).toEqual([
      { port: models, modelIds: ['a', 'b'] },
    ])
  })
})
