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

test.each([
  ['all code', () => true],
  ['the code of the token', (body: string) => body.toLowerCase().includes(USDC_ADDRESS.toLowerCase())],
])('a node that withholds %s decides nothing, and ends no process', async (_, withheld) => {
  node.refuse = (method, body) =>
    method === 'eth_getCode' && withheld(body) ? { code: -32_603, message: 'busy' } : undefined
  await expect(network.verify(await read(await createFundedPayer(chain)))).rejects.toThrow('the node did not respond')
  const outcome = await network.settle(await read(await createFundedPayer(chain)), async () => {})
  expect(outcome.kind).toBe('unknown')
  await setImmediate()
  expect(unhandled).toEqual([])
  node.refuse = () => undefined
})

test('afterwards the same node verifies payments', async () => {
  expect(await network.verify(await read(await createFundedPayer(chain)))).toEqual({ valid: true })
})
