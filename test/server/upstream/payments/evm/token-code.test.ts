import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../../../server/domain/clock.ts'
import type { PaymentNetwork, SignedPayment } from '../../../../../server/domain/payments/payment-network.ts'
import { createEvmPayments } from '../../../../../server/upstream/payments/evm/create-evm-payments.ts'
import { BASE_NETWORK, type BaseChain, startBaseChain, USDC_ADDRESS } from '../../../../support/base-chain.ts'
import { createFundedPayer, signAuthorization } from '../../../../support/base-payments.ts'
import { evmSettings } from '../../../../support/evm-settings.ts'
import { type NodeProxy, startNodeProxy } from '../../../../support/node-proxy.ts'
import { createRecordingLog } from '../../../../support/recording-log.ts'

let chain: BaseChain
let node: NodeProxy
let network: PaymentNetwork
const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeAll(async () => {
  process.on('unhandledRejection', note)
  chain = await startBaseChain()
  node = await startNodeProxy(chain.url)
  network = await createEvmPayments(evmSettings(node.url), { clock: systemClock, log: createRecordingLog() })
})
afterAll(async () => {
  process.off('unhandledRejection', note)
  await node[Symbol.asyncDispose]()
  await chain.close()
})

const read = async (signer: Awaited<ReturnType<typeof createFundedPayer>>): Promise<SignedPayment> => {
  const payload = await signAuthorization(signer)
  return network.read({ scheme: 'exact', network: BASE_NETWORK, asset: null, payTo: null, payload })
}

const isOfToken = (body: string) => body.toLowerCase().includes(USDC_ADDRESS.toLowerCase())

test.each([
  ['all code', () => true, ['did not respond'], ['unknown']],
  // The library may decide without this code: whether it waits for it is a race.
  ['the code of the token', isOfToken, ['did not respond', 'valid'], ['unknown', 'settled']],
])('a node that withholds %s rejects no payment, and ends no process', async (_, withheld, verdicts, ends) => {
  node.refuse = (method, body) =>
    method === 'eth_getCode' && withheld(body) ? { code: -32_603, message: 'busy' } : undefined
  const verdict = await network.verify(await read(await createFundedPayer(chain))).then(
    ({ valid }) => (valid ? 'valid' : 'rejected'),
    (error: Error) => (error.message.includes('the node did not respond') ? 'did not respond' : error.message),
  )
  expect(verdicts).toContain(verdict)
  const outcome = await network.settle(await read(await createFundedPayer(chain)), async () => {})
  expect(ends).toContain(outcome.kind)
  await setImmediate()
  expect(unhandled).toEqual([])
  node.refuse = () => undefined
})

test('afterwards the same node verifies payments', async () => {
  expect(await network.verify(await read(await createFundedPayer(chain)))).toEqual({ valid: true })
})
