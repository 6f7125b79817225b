import { encodeFunctionData, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../server/domain/clock.ts'
import type { PaymentEnvelope } from '../../../../../server/domain/payments/payment-envelope.ts'
import type { PaymentNetwork, SignedPayment } from '../../../../../server/domain/payments/payment-network.ts'
import {
  createEvmPayments,
  type EvmPaymentSettings,
} from '../../../../../server/upstream/payments/evm/create-evm-payments.ts'
import { startAnvil } from '../../../../support/anvil.ts'
import {
  BASE_NETWORK,
  type BaseChain,
  FACILITATOR_KEY,
  MERCHANT_ADDRESS,
  MULTICALL_ABI,
  MULTICALL_ADDRESS,
  startBaseChain,
  USDC_ADDRESS,
  WALLET_FACTORY_ADDRESS,
} from '../../../../support/base-chain.ts'
import {
  cancelAuthorization,
  createFundedPayer,
  createPayer,
  type EvmPayload,
  frontRun,
  signAsUndeployedWallet,
  signAuthorization,
  transferCall,
} from '../../../../support/base-payments.ts'
import { evmSettings } from '../../../../support/evm-settings.ts'
import { startNodeProxy } from '../../../../support/node-proxy.ts'
import { createRecordingLog } from '../../../../support/recording-log.ts'

let chain: BaseChain
beforeAll(async () => {
  chain = await startBaseChain()
})
afterAll(() => chain.close())

const create = (settings: Partial<EvmPaymentSettings> = {}): Promise<PaymentNetwork> =>
  createEvmPayments(evmSettings(chain.url, settings), { clock: systemClock, log: createRecordingLog() })
const enveloped = (payload: object): PaymentEnvelope => ({
  scheme: 'exact',
  network: BASE_NETWORK,
  asset: null,
  payTo: null,
  payload,
})
const lookUp = (network: PaymentNetwork, payment: SignedPayment, ...transactionIds: string[]) =>
  network.lookUp(payment, { transactionIds, receivedAt: new Date() })

/** Verifies and settles as the payment machine does; gives the transactions that were told. */
async function pay(network: PaymentNetwork, payload: EvmPayload) {
  const payment = network.read(enveloped(payload))
  const verdict = await network.verify(payment)
  const told: string[] = []
  const outcome = verdict.valid
    ? await network.settle(payment, async (transactionId) => void told.push(transactionId))
    : null
  return { payment, verdict, outcome, told }
}

describe('a payment on an EVM chain', () => {
  it('is reported before it is sent, and found by its transaction and by its nonce alike', async () => {
    const network = await create()
    const payload = await signAuthorization(await createFundedPayer(chain))
    const payment = network.read(enveloped(payload))
    expect(await lookUp(network, payment)).toEqual({ kind: 'pending', sent: false })
    const before: unknown[] = []
    const outcome = await network.settle(payment, async (transactionId) => {
      before.push(await lookUp(network, payment, transactionId))
    })
    expect(before).toEqual([{ kind: 'pending', sent: 'perhaps' }])
    if (outcome.kind !== 'settled') throw new Error(outcome.reason)
    const paid = { kind: 'paid', transfer: { transactionId: outcome.transactionId, amountAtomic: 5_000_000n } }
    expect(await lookUp(network, payment, outcome.transactionId)).toMatchObject(paid)
    expect(await lookUp(network, payment)).toMatchObject(paid)
    expect(await lookUp(network, payment, `0x${'00'.repeat(32)}`)).toMatchObject(paid)
  })

  it('does not reach the chain when its transaction cannot be stored first', async () => {
    const network = await create()
    const payment = network.read(enveloped(await signAuthorization(await createFundedPayer(chain))))
    const outcome = await network.settle(payment, () => Promise.reject(new Error('the database is away')))
    expect(outcome.kind).toBe('failed')
    expect(await lookUp(network, payment)).toEqual({ kind: 'pending', sent: false })
  })

  it('distinguishes the payments of one transaction', async () => {
    const network = await create()
    const payloads = await Promise.all(
      [5_000_000n, 5_000_000n, 6_000_000n].map(async (value) =>
        signAuthorization(await createFundedPayer(chain), { value }),
      ),
    )
    const calls = payloads.map((payload) => ({
      target: USDC_ADDRESS,
      allowFailure: false,
      callData: transferCall(payload),
    }))
    const data = encodeFunctionData({ abi: MULTICALL_ABI, functionName: 'aggregate3', args: [calls] })
    const hash = await chain.client.sendTransaction({ to: MULTICALL_ADDRESS, data })
    await chain.client.waitForTransactionReceipt({ hash })
    const outcomes = await Promise.all(
      payloads.map((payload) => lookUp(network, network.read(enveloped(payload)), hash)),
    )
    const transfers = outcomes.map((outcome) => (outcome.kind === 'paid' ? outcome.transfer : undefined))
    expect(transfers.map((transfer) => transfer?.amountAtomic)).toEqual([5_000_000n, 5_000_000n, 6_000_000n])
    expect(new Set(transfers.map((transfer) => transfer?.transferIndex)).size).toBe(3)
  })

  it('cannot be paid any more once it is cancelled, or expired on the chain past a margin', async () => {
    const network = await create()
    const payer = await createFundedPayer(chain)
    const canceled = await signAuthorization(payer)
    await cancelAuthorization(chain, payer, canceled.authorization.nonce)
    expect(await lookUp(network, network.read(enveloped(canceled)))).toEqual({
      kind: 'impossible',
      reason: 'authorization_canceled',
    })
    const now = (await chain.client.getBlock()).timestamp
    const expiring = async (validBefore: bigint) =>
      lookUp(network, network.read(enveloped(await signAuthorization(payer, { validBefore }))))
    expect(await expiring(now - 100n)).toEqual({ kind: 'pending', sent: false })
    expect(await expiring(now - 130n)).toEqual({ kind: 'impossible', reason: 'authorization_expired' })
  })

  it('is not paid before it has the required confirmations', async () => {
    const network = await create({ confirmations: 3 })
    const payload = await signAuthorization(await createFundedPayer(chain))
    const hash = await frontRun(chain, payload)
    const payment = network.read(enveloped(payload))
    expect(await lookUp(network, payment, hash)).toEqual({ kind: 'pending', sent: true })
    await chain.client.mine({ blocks: 2 })
    expect(await lookUp(network, payment)).toMatchObject({ kind: 'paid' })
  })

  it('is settled and found for its original payee if the payee was changed later', async () => {
    const [before, after] = [await create(), await create({ payTo: createPayer().address })]
    const payload = await signAuthorization(await createFundedPayer(chain))
    const payment = before.read(enveloped(payload))
    expect(() => after.read(enveloped(payload))).toThrow('must go to')
    expect(await after.verify(payment)).toEqual({ valid: true })
    const received = await chain.balanceOf(MERCHANT_ADDRESS)
    expect((await after.settle(payment, async () => {})).kind).toBe('settled')
    expect(await lookUp(after, payment)).toMatchObject({ kind: 'paid', transfer: { amountAtomic: 5_000_000n } })
    expect(await chain.balanceOf(MERCHANT_ADDRESS)).toBe(received + 5_000_000n)
  })

  it('counts by EIP-1271 alone if a contract wallet signed it', async () => {
    const network = await create()
    const owner = createPayer()
    const wallet = await chain.deployWallet(owner.address)
    await chain.fund(wallet, 20_000_000n)
    expect((await pay(network, await signAuthorization(owner, { from: wallet }))).outcome?.kind).toBe('settled')
    const { verdict } = await pay(network, await signAuthorization(createPayer(), { from: wallet }))
    expect(verdict).toMatchObject({ valid: false, mayBePaid: false })
  })

  it("is verified by the contract if its key runs a contract's code (EIP-7702), as in the token", async () => {
    const network = await create()
    const [owner, stranger] = [createPayer(), createPayer()]
    for (const payer of [owner, stranger]) {
      const code: Hex = `0xef0100${(await chain.deployWallet(owner.address)).slice(2)}`
      await chain.client.setCode({ address: payer.address, bytecode: code })
      await chain.fund(payer.address, 20_000_000n)
    }
    expect((await pay(network, await signAuthorization(owner))).outcome?.kind).toBe('settled')
    // Its own key signed, and the code that it runs obeys another one.
    expect((await pay(network, await signAuthorization(stranger))).verdict).toMatchObject({ valid: false })
  })

  it('is accepted from an undeployed wallet only with a factory that the operator allows', async () => {
    const refusing = await create()
    const payload = await signAsUndeployedWallet(chain, createPayer())
    await chain.fund(payload.authorization.from, 20_000_000n)
    expect((await pay(refusing, payload)).verdict).toMatchObject({ reason: 'eip6492_factory_not_allowed' })
    const allowing = await create({ eip6492Factories: [WALLET_FACTORY_ADDRESS] })
    const { payment, outcome, told } = await pay(allowing, payload)
    expect([outcome?.kind, told.length]).toEqual(['settled', 2])
    expect(await lookUp(allowing, payment, ...told)).toMatchObject({ kind: 'paid' })
  })

  it('may end its signature in 0 or 1', async () => {
    const payload = await signAuthorization(await createFundedPayer(chain))
    const recoveryId = payload.signature.endsWith('1b') ? '00' : '01'
    const signature = `${payload.signature.slice(0, -2)}${recoveryId}` as Hex
    expect((await pay(await create(), { ...payload, signature })).outcome?.kind).toBe('settled')
  })
})

describe('the facilitator of a key', () => {
  it('settles payments that are sent at once, also by two processes with one key', async () => {
    const networks = [await create(), await create()]
    const payloads = await Promise.all(
      Array.from({ length: 20 }, async () => signAuthorization(await createFundedPayer(chain))),
    )
    const paid = await Promise.all(payloads.map((payload, index) => pay(networks[index % 2] ?? networks[0]!, payload)))
    expect(paid.map(({ outcome }) => outcome?.kind)).toEqual(payloads.map(() => 'settled'))
  })

  it('leaves no gap behind a transaction that the chain would reject, and sends none', async () => {
    const network = await create()
    const payer = createPayer()
    const counted = () => chain.client.getTransactionCount({ address: facilitatorAddress })
    const facilitatorAddress = privateKeyToAddress(FACILITATOR_KEY)
    const before = await counted()
    const payment = network.read(enveloped(await signAuthorization(payer)))
    expect((await network.settle(payment, async () => {})).kind).toBe('failed')
    expect(await counted()).toBe(before)
    expect((await pay(network, await signAuthorization(await createFundedPayer(chain)))).outcome?.kind).toBe('settled')
  })
})

describe('a transaction that a gateway hands over twice', () => {
  it.each(['already known', 'transaction already imported', 'nonce too low'])(
    'is sent once, though the second time the node says: %s',
    async (message) => {
      await using node = await startNodeProxy(chain.url)
      const network = await create({ rpcUrl: node.url })
      let sent = 0
      node.refuse = (method) => (method === 'eth_sendRawTransaction' ? { code: -32_000, message } : undefined)
      node.onStage = async (stage, method, body = '') => {
        if (stage !== 'asked' || method !== 'eth_sendRawTransaction') return
        sent++
        await fetch(chain.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      }
      const { outcome, told } = await pay(network, await signAuthorization(await createFundedPayer(chain)))
      expect([outcome, told.length, sent]).toEqual([
        { kind: 'settled', transactionId: told[0], fee: expect.any(BigInt) },
        1,
        1,
      ])
    },
  )
})

describe('a node', () => {
  it('is never used to check payments if it serves another chain', async () => {
    await using other = await startAnvil({ chainId: 1 })
    const network = await create({ rpcUrl: other.url })
    expect(await network.inspect()).toEqual(['Payments on eip155:8453 are off: the configured node serves chain 1'])
    await expect(network.requirement(5_000_000n)).rejects.toMatchObject({ code: 'payment_not_configured' })
  })

  it('takes no payments if its token does not have six decimals, and is named if it lacks the token', async () => {
    const [asset, nowhere] = [`0x${'18'.repeat(20)}`, `0x${'19'.repeat(20)}`] as const
    // Answers 18, whatever it is asked.
    await chain.client.setCode({ address: asset, bytecode: '0x601260005260206000f3' })
    const network = await create({ asset })
    const off = 'Payments on eip155:8453 are off'
    expect(await network.inspect()).toEqual([`${off}: the token ${asset} has 18 decimals, not 6`])
    await expect(network.requirement(5_000_000n)).rejects.toMatchObject({ code: 'payment_not_configured' })
    expect(await (await create({ asset: nowhere })).inspect()).toContain(`${nowhere} is not a token contract`)
  })

  it('leaves a payment undecided if it does not respond', async () => {
    const network = await create({ rpcUrl: 'http://127.0.0.1:9' })
    const payment = network.read(enveloped(await signAuthorization(createPayer())))
    await expect(network.verify(payment)).rejects.toThrow()
    expect((await network.settle(payment, async () => {})).kind).toBe('unknown')
    expect(await network.inspect()).toEqual(['its node does not respond'])
  })
})

describe('wrong settings are named:', () => {
  it.each<[string, Partial<EvmPaymentSettings>, RegExp]>([
    ['payee', { payTo: 'merchant' }, /x402\.base\.payTo: merchant is not an address/],
    ['zero payee', { payTo: `0x${'0'.repeat(40)}` }, /x402\.base\.payTo/],
    ['asset', { asset: '0x12' }, /x402\.base\.asset/],
    ['key', { facilitator: { kind: 'local', privateKey: '0x12' } }, /privateKey: must be the 32 bytes/],
    ['key of zero', { facilitator: { kind: 'local', privateKey: `0x${'0'.repeat(64)}` } }, /valid key of secp256k1/],
    ['payee that is the facilitator', { payTo: privateKeyToAddress(FACILITATOR_KEY) }, /keep the keys apart/],
  ])('%s', async (_, settings, message) => {
    await expect(create(settings)).rejects.toThrow(message)
  })
})

describe('an ERC-6492 signature that nothing checked', () => {
  it('never counts as signed, for a key or for a contract wallet that is not deployed', async () => {
    const network = await create({ eip6492Factories: [WALLET_FACTORY_ADDRESS] })
    const genuine = await signAsUndeployedWallet(chain, createPayer())
    const verdictOf = (payload: EvmPayload) => network.verify(network.read(enveloped(payload)))
    const ofKey = { ...genuine.authorization, from: createPayer().address }
    const ofWallet = { ...genuine.authorization, value: '6000000' }
    for (const authorization of [ofKey, ofWallet]) {
      expect(await verdictOf({ ...genuine, authorization })).toMatchObject({ valid: false, mayBePaid: false })
    }
    await chain.fund(genuine.authorization.from, 20_000_000n)
    expect(await verdictOf(genuine)).toEqual({ valid: true })
  })
})
