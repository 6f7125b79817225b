import type { Hex } from 'viem'
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../server/domain/clock.ts'
import type { PaymentNetwork, SignedPayment } from '../../../../../server/domain/payments/payment-network.ts'
import { createEvmClient } from '../../../../../server/upstream/chain/evm-client.ts'
import { createEvmPayments } from '../../../../../server/upstream/payments/evm/create-evm-payments.ts'
import { GasAccount } from '../../../../../server/upstream/payments/evm/gas-account.ts'
import { TransactionSender } from '../../../../../server/upstream/payments/evm/transaction-sender.ts'
import {
  BASE_NETWORK,
  type BaseChain,
  FACILITATOR_KEY,
  MERCHANT_ADDRESS,
  startBaseChain,
  USDC_ADDRESS,
} from '../../../../support/base-chain.ts'
import {
  createFundedPayer,
  createPayer,
  type EvmPayload,
  frontRun,
  signAuthorization,
  transferCall,
} from '../../../../support/base-payments.ts'
import { evmSettings, TEST_GAS_LIMITS } from '../../../../support/evm-settings.ts'
import { createFakeClock } from '../../../../support/fake-clock.ts'
import { type NodeProxy, startNodeProxy } from '../../../../support/node-proxy.ts'
import { createRecordingLog } from '../../../../support/recording-log.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_SECONDS = 86_400n
const FACILITATOR = privateKeyToAddress(FACILITATOR_KEY)

let chain: BaseChain
let node: NodeProxy
let network: PaymentNetwork
afterEach(() => {
  node.onStage = () => {}
  node.alter = (_, result) => result
  node.refuse = () => undefined
})
beforeAll(async () => {
  chain = await startBaseChain()
  node = await startNodeProxy(chain.url)
  network = await createEvmPayments(evmSettings(node.url), { clock: systemClock, log: createRecordingLog() })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await chain.close()
})

const read = (payload: EvmPayload): SignedPayment =>
  network.read({ scheme: 'exact', network: BASE_NETWORK, asset: null, payTo: null, payload })
const lookUp = (payment: SignedPayment, ...transactionIds: string[]) =>
  network.lookUp(payment, { transactionIds, receivedAt: new Date() })

async function fundedPayload() {
  const payload = await signAuthorization(await createFundedPayer(chain))
  return { payload, data: transferCall(payload) }
}

describe('a payment is neither lost nor invented when', () => {
  it.each(['abc', '5'.repeat(88), `0x${'zz'.repeat(32)}`])(
    'a facilitator names %j as its transaction: it is found by its nonce',
    async (told) => {
      const payload = await signAuthorization(await createFundedPayer(chain))
      expect(await lookUp(read(payload), told)).toEqual({ kind: 'pending', sent: false })
      const transactionId = await frontRun(chain, payload)
      expect(await lookUp(read(payload), told)).toMatchObject({ kind: 'paid', transfer: { transactionId } })
    },
  )

  it('a reorganisation moves its transaction within a block', async () => {
    const [first, second] = await Promise.all([fundedPayload(), fundedPayload()])
    const indexOf = async (payload: EvmPayload) => {
      const found = await lookUp(read(payload))
      return found.kind === 'paid' ? found.transfer.transferIndex : undefined
    }
    const before = await chain.client.snapshot()
    await chain.stopMining()
    for (const { data } of [first, second])
      await chain.client.sendTransaction({ to: USDC_ADDRESS, data, gas: 200_000n })
    await chain.resumeMining()
    const behind = await indexOf(second.payload)
    await chain.client.revert({ id: before })
    expect(await lookUp(read(second.payload))).toEqual({ kind: 'pending', sent: false })
    await frontRun(chain, second.payload)
    expect([behind, await indexOf(second.payload)]).toEqual([1, 1])
  })

  it("the node's logs lag behind the state that it shows", async () => {
    const payload = await signAuthorization(await createFundedPayer(chain))
    await frontRun(chain, payload)
    // However long ago it arrived: it may have been put on the chain just now.
    const receivedAt = new Date(Date.now() - HOUR_MS)
    const lookUpLate = () => network.lookUp(read(payload), { transactionIds: [], receivedAt })
    node.alter = (method, result) => (method === 'eth_getLogs' ? [] : result)
    expect(await lookUpLate()).toEqual({ kind: 'pending', sent: true })
    await chain.client.mine({ blocks: 63 })
    expect(await lookUpLate()).toEqual({ kind: 'pending', sent: true })
    node.alter = (_, result) => result
    expect(await lookUpLate()).toMatchObject({ kind: 'paid' })
  })

  it('its nonce was used for something else, long before it came', async () => {
    const payer = await createFundedPayer(chain)
    const used = await signAuthorization(payer)
    await frontRun(chain, used)
    await chain.client.mine({ blocks: 100 })
    const [early, late] = [{ value: 6_000_000n }, { validAfter: BigInt(Math.floor(Date.now() / 1_000)) + DAY_SECONDS }]
    const reuse = (options: { value?: bigint; validAfter?: bigint }) =>
      signAuthorization(payer, { nonce: used.authorization.nonce, ...options })
    expect(await lookUp(read(await reuse(early)))).toMatchObject({ reason: 'nonce_already_used_otherwise' })
    // Only blocks since it could be valid are searched.
    node.alter = (method, result) => (method === 'eth_getLogs' ? [] : result)
    expect(await lookUp(read(await reuse(late)))).toMatchObject({ reason: 'nonce_already_used_before' })
    node.alter = (_, result) => result
  })

  it('the node goes away while it checks the signature of a contract wallet', async () => {
    const owner = createPayer()
    const wallet = await chain.deployWallet(owner.address)
    await chain.fund(wallet, 20_000_000n)
    const payment = read(await signAuthorization(owner, { from: wallet }))
    expect(await network.verify(payment)).toEqual({ valid: true })
    node.onStage = (stage, method) =>
      stage === 'asked' && method === 'eth_call' ? Promise.reject(new Error('gone')) : undefined
    await expect(network.verify(payment)).rejects.toThrow('did not respond')
    node.onStage = () => {}
  })

  it.each([
    [-32_005, 'limit exceeded'],
    [-32_603, 'Internal error'],
    [-32_000, 'header not found'],
    [429, 'Too Many Requests'],
  ])('the node returns %i, %s, to reads, which is no evidence about the payment', async (code, message) => {
    const owner = createPayer()
    const wallet = await chain.deployWallet(owner.address)
    await chain.fund(wallet, 20_000_000n)
    const ofContract = read(await signAuthorization(owner, { from: wallet }))
    const ofKey = read((await fundedPayload()).payload)
    const settle = async (payment: SignedPayment) => (await network.settle(payment, async () => {})).kind
    const busyAt = (method: string): void => {
      node.refuse = (asked) => (asked === method ? { code, message } : undefined)
    }
    busyAt('eth_call')
    for (const payment of [ofContract, ofKey]) await expect(network.verify(payment)).rejects.toThrow('did not respond')
    expect(await settle(ofContract)).toBe('unknown')
    for (const method of ['eth_estimateGas', 'eth_sendRawTransaction']) {
      busyAt(method)
      expect([await settle(ofContract), await settle(ofKey)]).toEqual(['unknown', 'unknown'])
    }
    node.refuse = () => undefined
    expect([await settle(ofContract), await settle(ofKey)]).toEqual(['settled', 'settled'])
  })

  it('the node turns to another chain while the server runs', async () => {
    const payload = await signAuthorization(await createFundedPayer(chain))
    await frontRun(chain, payload)
    node.alter = (method, result) => (method === 'eth_chainId' ? '0x1' : result)
    await expect(lookUp(read(payload))).rejects.toMatchObject({ code: 'payment_not_configured' })
    await expect(network.requirement(5_000_000n)).rejects.toMatchObject({ code: 'payment_not_configured' })
    node.alter = (_, result) => result
    expect(await lookUp(read(payload))).toMatchObject({ kind: 'paid' })
    expect(await network.requirement(5_000_000n)).toMatchObject({ amount: '5000000' })
  })
})

describe('the key that pays for gas', () => {
  it('pays for no contract wallet whose check of a signature burns millions of it', async () => {
    const payer = createPayer()
    // Reaches for memory far away, then answers EIP-1271's magic value.
    const burning: Hex = `0x621fffff51507f1626ba7e${'00'.repeat(28)}60005260206000f3`
    await chain.client.setCode({ address: payer.address, bytecode: burning })
    await chain.fund(payer.address, 20_000_000n)
    const payment = read(await signAuthorization(payer))
    const before = await chain.client.getBalance({ address: FACILITATOR })
    expect((await network.settle(payment, async () => {})).kind).toBe('failed')
    expect(await chain.client.getBalance({ address: FACILITATOR })).toBe(before)
  })

  it('fills the place of a transaction that the node dropped, however steadily others are sent', async () => {
    const clock = createFakeClock()
    const client = createEvmClient(chain.url)
    const account = new GasAccount({ client, account: privateKeyToAccount(FACILITATOR_KEY), chainId: 8_453 })
    const sender = new TransactionSender({ client, account, clock, limits: TEST_GAS_LIMITS })
    const send = () => sender.send({ to: MERCHANT_ADDRESS, data: '0x' }, async () => {})
    await chain.stopMining()
    await chain.client.dropTransaction({ hash: await send() })
    const sent: Hex[] = []
    for (let index = 0; index < 5; index++) {
      clock.advance(10 * SECOND_MS)
      sent.push(await send())
    }
    await chain.resumeMining()
    const receipts = await Promise.all(
      sent.map((hash) => chain.client.waitForTransactionReceipt({ hash, timeout: 5 * SECOND_MS })),
    )
    expect(receipts.map(({ status }) => status)).toEqual(sent.map(() => 'success'))
  })
})
