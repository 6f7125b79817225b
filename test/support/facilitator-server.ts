import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { EvmPayload } from './base-payments.ts'

type Settlement = Record<string, unknown>
type Answer = (payload: EvmPayload) => Settlement | null | Promise<Settlement | null>

export interface FacilitatorServer extends AsyncDisposable {
  url: string
  /** What `POST /settle` answers to a payment; null: the connection ends without an answer. */
  answer: Answer
}

/** A facilitator as another party runs it, which may lie, refuse or die. */
export async function startFacilitatorServer(): Promise<FacilitatorServer> {
  const facilitator: { answer: Answer } = { answer: () => null }
  const server = createServer(async (request, response) => {
    const { paymentPayload } = (await json(request)) as { paymentPayload: { payload: EvmPayload } }
    const settlement = await facilitator.answer(paymentPayload.payload)
    if (settlement === null) return response.destroy()
    response.setHeader('Content-Type', 'application/json')
    return response.end(JSON.stringify(settlement))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(facilitator, {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
