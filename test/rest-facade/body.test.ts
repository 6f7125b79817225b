import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { readRequestBody } from '../../rest-facade/body.ts'
import { BodyReader } from '../../server/domain/bodies/body-reader.ts'

it('reading the body of a client that left while its payment settled ends', async () => {
  const read = Promise.withResolvers<Promise<unknown>>()
  const server = createServer((incoming) => {
    incoming.once('close', () =>
      read.resolve(
        readRequestBody(incoming, { kind: 'json', limitBytes: 1_000, schema: z.unknown() }, new BodyReader()),
      ),
    )
    client.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = request({ port: (server.address() as AddressInfo).port, method: 'POST' })
  client.on('error', () => {})
  client.end('{"model":"a"}')
  await expect(read.promise.then((body) => body)).rejects.toMatchObject({ code: 'invalid_request' })
  server.close()
})
