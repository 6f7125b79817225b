import { base58 } from '@scure/base'
import { generateKeyPairSigner, getBase64Codec, getTransactionDecoder, type KeyPairSigner } from '@solana/kit'
import nacl from 'tweetnacl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type {
  PaymentNetwork,
  SettleOutcome,
  SignedPayment,
} from '../../../../../server/domain/payments/payment-network.ts'
import { createFakeClock } from '../../../../support/fake-clock.ts'
import {
  createSolanaPayer,
  SOLANA_FACILITATOR_ADDRESS,
  SOLANA_FACILITATOR_KEY_FILE,
  SOLANA_MERCHANT_ADDRESS,
  SOLANA_NETWORK,
  type SolanaChain,
  startSolanaChain,
  USDC_MINT,
} from '../../../../support/solana-chain.ts'
import { startSolanaNode } from '../../../../support/solana-node.ts'
import { type SolanaPaymentOptions, signSolanaPayment } from '../../../../support/solana-payments.ts'
import { createSolanaTestNetwork } from '../../../../support/solana-test-network.ts'
import { type StockFacilitator, startStockFacilitator } from '../../../../support/stock-facilitator.ts'

const receivedAt = new Date()

let chain: SolanaChain
let network: PaymentNetwork
let payer: KeyPairSigner

beforeEach(async () => {
  chain = await startSolanaChain()
  network = createSolanaTestNetwork(chain)
  payer = await createSolanaPayer(chain)
})
afterEach(() => chain.close())

async function sign(options: SolanaPaymentOptions = {}): Promise<SignedPayment> {
  const payload = await signSolanaPayment(chain, payer, options)
  const read = network.read({ scheme: 'exact', network: SOLANA_NETWORK, asset: null, payTo: null, payload })
  // What the database keeps is JSON.
  return { ...read, wire: JSON.parse(JSON.stringify(read.wire)) as SignedPayment['wire'] }
}

async function settle(payment: SignedPayment): Promise<{ outcome: SettleOutcome; told: string[] }> {
  const told: string[] = []
  const outcome = await network.settle(payment, async (id) => void told.push(id))
  return { outcome, told }
}

const lookUp = (payment: SignedPayment, ...transactionIds: string[]) =>
  network.lookUp(payment, { transactionIds, receivedAt })

const paid = (payment: SignedPayment, transactionId: unknown = expect.any(String)) => ({
  kind: 'paid',
  transfer: { transactionId, transferIndex: 2, payer: payment.payer, amountAtomic: payment.amountAtomic },
})

describe('a local facilitator', () => {
  test('reports the transaction before it is sent, and moves exactly the amount', async () => {
    const payment = await sign({ value: 12_345_678n })
    expect(await network.verify(payment)).toEqual({ valid: true })
    let seenBefore: unknown
    const outcome = await network.settle(payment, async (transactionId) => {
      seenBefore = await lookUp(payment, transactionId)
    })
    expect(seenBefore).toEqual({ kind: 'pending', sent: 'perhaps' })
    expect(outcome).toEqual({ kind: 'settled', transactionId: expect.any(String) })
    expect(await chain.balanceOf(payer.address)).toBe(20_000_000n - 12_345_678n)
    expect(await chain.balanceOf(SOLANA_MERCHANT_ADDRESS)).toBe(12_345_678n)
    expect(await lookUp(payment)).toEqual(paid(payment, 'transactionId' in outcome && outcome.transactionId))
  })

  test('takes the key file of the Solana command line', async () => {
    network = createSolanaTestNetwork(chain, {
      facilitator: { kind: 'local', privateKey: SOLANA_FACILITATOR_KEY_FILE },
    })
    expect((await network.requirement(5_000_000n)).extra).toEqual({ feePayer: SOLANA_FACILITATOR_ADDRESS })
    expect((await settle(await sign())).outcome.kind).toBe('settled')
  })

  test('settles a payment twice as one transfer', async () => {
    const payment = await sign()
    const [first, second] = [await settle(payment), await settle(payment)]
    expect(second).toEqual(first)
    expect(await chain.balanceOf(SOLANA_MERCHANT_ADDRESS)).toBe(5_000_000n)
    expect(await network.verify(payment)).toEqual({ valid: false, reason: 'AlreadyProcessed', mayBePaid: true })
  })

  test('settles twenty distinct payments at once', async () => {
    const payments = await Promise.all(Array.from({ length: 20 }, () => sign({ value: 1_000_000n })))
    const settled = await Promise.all(payments.map(settle))
    expect(new Set(settled.map(({ outcome }) => outcome.kind))).toEqual(new Set(['settled']))
    expect(new Set(settled.flatMap(({ told }) => told)).size).toBe(20)
    expect(await chain.balanceOf(SOLANA_MERCHANT_ADDRESS)).toBe(20_000_000n)
  })

  test('rejects without a fee what the chain would not take', async () => {
    const poor = await createSolanaPayer(chain, 4_999_999n)
    payer = poor
    const payment = await sign()
    expect(await network.verify(payment)).toMatchObject({ valid: false, mayBePaid: false })
    const lamports = chain.node.svm.getBalance(SOLANA_FACILITATOR_ADDRESS)
    expect((await settle(payment)).outcome.kind).toBe('failed')
    expect(chain.node.svm.getBalance(SOLANA_FACILITATOR_ADDRESS)).toBe(lamports)
  })

  test('leaves the outcome open while the chain is stalled, and finds the transfer when it continues', async () => {
    const payment = await sign()
    chain.ledger.stopProcessing()
    expect((await settle(payment)).outcome).toEqual({ kind: 'unknown', reason: 'settlement_pending' })
    expect(await lookUp(payment)).toEqual({ kind: 'pending', sent: false })
    chain.ledger.resumeProcessing()
    expect(await lookUp(payment)).toEqual(paid(payment))
    expect(await chain.balanceOf(SOLANA_MERCHANT_ADDRESS)).toBe(5_000_000n)
  })

  test('sends nothing when the transaction could not be stored before', async () => {
    const payment = await sign()
    const outcome = await network.settle(payment, () => Promise.reject(new Error('the database is away')))
    expect(outcome).toEqual({ kind: 'unknown', reason: 'settlement_broke_off' })
    expect(chain.ledger.history).toEqual([])
  })
})

describe('our own node says', () => {
  test('a payment is impossible only when its blockhash is gone for longer than any clock or node may lag', async () => {
    const payment = await sign()
    expect(await lookUp(payment)).toEqual({ kind: 'pending', sent: false })
    chain.ledger.expireBlockhash()
    expect(await lookUp(payment)).toEqual({ kind: 'pending', sent: false })
    chain.ledger.passBlocks(160n)
    expect(await lookUp(payment)).toEqual({ kind: 'impossible', reason: 'blockhash_expired' })
    expect((await settle(payment)).outcome).toEqual({ kind: 'failed', reason: 'BlockhashNotFound' })
  })

  test('nothing about a payment that is older than its history', async () => {
    const payment = await sign()
    chain.ledger.expireBlockhash()
    chain.ledger.passBlocks(160n)
    chain.ledger.firstAvailableBlock = chain.ledger.blockHeight
    await expect(lookUp(payment)).rejects.toThrow('history')
  })

  test('a transaction that failed on the chain pays nothing', async () => {
    const payment = await sign()
    await chain.fund(payer.address, 0n)
    const { told } = await settle(payment)
    expect(chain.ledger.history).toEqual([])
    const [signature] = told
    // As a node that skips its own simulation would.
    const wire = Uint8Array.from(getBase64Codec().encode(String(payment.wire.payload['transaction'])))
    wire.set(base58.decode(signature ?? ''), 1)
    chain.ledger.send(getTransactionDecoder().decode(wire), { skipPreflight: true })
    expect(chain.ledger.history).toHaveLength(1)
    expect(await lookUp(payment)).toEqual({
      kind: 'impossible',
      reason: 'transaction_failed',
      failedTransactionIds: [expect.any(String)],
    })
  })

  test('a payment arrived even if the facilitator has another key now', async () => {
    const [arrived, open] = [await sign(), await sign()]
    await settle(arrived)
    const privateKey = base58.encode(nacl.sign.keyPair().secretKey)
    network = createSolanaTestNetwork(chain, { facilitator: { kind: 'local', privateKey } })
    expect(await lookUp(arrived)).toEqual(paid(arrived))
    expect(await network.verify(open)).toEqual({ valid: false, reason: 'fee_payer_mismatch', mayBePaid: true })
    expect((await settle(open)).outcome).toEqual({ kind: 'failed', reason: 'fee_payer_mismatch' })
    expect(await lookUp(open)).toEqual({ kind: 'pending', sent: false })
  })

  test('nothing at all when it serves another cluster', async () => {
    await using devnet = await startSolanaNode()
    const payment = await sign()
    network = createSolanaTestNetwork(chain, { rpcUrl: devnet.url })
    await expect(lookUp(payment)).rejects.toMatchObject({ code: 'payment_not_configured' })
    await expect(network.requirement(5_000_000n)).rejects.toMatchObject({ code: 'payment_not_configured' })
    expect(await network.inspect()).toEqual([expect.stringContaining('genesis')])
  })

  test('which problems keep payments from arriving', async () => {
    expect(await network.inspect()).toEqual([])
    const { address } = await generateKeyPairSigner()
    expect(await createSolanaTestNetwork(chain, { payTo: address }).inspect()).toEqual([
      expect.stringContaining('has no token account'),
    ])
    expect(await createSolanaTestNetwork(chain, { asset: address }).inspect()).toEqual([
      expect.stringContaining('is not a token'),
    ])
    const privateKey = base58.encode(nacl.sign.keyPair().secretKey)
    expect(await createSolanaTestNetwork(chain, { facilitator: { kind: 'local', privateKey } }).inspect()).toEqual([
      expect.stringContaining('has only 0 lamports'),
    ])
    await chain.close()
    expect(await network.inspect()).toEqual([expect.stringContaining('does not respond')])
  })
})

describe('a facilitator behind a URL', () => {
  let facilitator: StockFacilitator
  beforeEach(async () => {
    facilitator = await startStockFacilitator({ solana: chain })
    network = createSolanaTestNetwork(chain, { facilitator: { kind: 'remote', url: facilitator.url } })
  })
  afterEach(() => facilitator.close())

  test('names its fee payer, verifies, settles, and is confirmed by our own node', async () => {
    expect((await network.requirement(5_000_000n)).extra).toEqual({ feePayer: SOLANA_FACILITATOR_ADDRESS })
    const payment = await sign()
    expect(await network.verify(payment)).toEqual({ valid: true })
    const { outcome, told } = await settle(payment)
    expect(outcome).toEqual({ kind: 'settled', transactionId: told[0] })
    expect(await lookUp(payment, ...told)).toEqual(paid(payment, told[0]))
  })

  test('is offered with its last known fee payer while it is away, and queried again later', async () => {
    const clock = createFakeClock()
    const settings = { facilitator: { kind: 'remote', url: facilitator.url } } as const
    const remote = createSolanaTestNetwork(chain, settings, clock)
    const offer = await remote.requirement(5_000_000n)
    for (let again = 0; again < 3; again++) expect(await remote.requirement(5_000_000n)).toEqual(offer)
    expect(facilitator.questions).toBe(1)
    clock.advance(61_000)
    for (let again = 0; again < 3; again++) await remote.requirement(5_000_000n)
    await expect.poll(() => facilitator.questions).toBe(2)
    await facilitator.close()
    clock.advance(3_600_000)
    expect(await remote.requirement(5_000_000n)).toEqual(offer)
    await expect(createSolanaTestNetwork(chain, settings, clock).requirement(5_000_000n)).rejects.toThrow()
  })

  test('rejects what it would not sign; the payer may still have it settled elsewhere', async () => {
    const stranger = await generateKeyPairSigner()
    const payment = await sign({ feePayer: stranger.address })
    expect(await network.verify(payment)).toMatchObject({ valid: false, mayBePaid: true })
  })

  test.each(['', 'x', 'a real transaction of another payment'])(
    'lies about success with %j: nothing is paid',
    async (lie) => {
      const other = await sign({ value: 6_000_000n })
      const { told } = await settle(other)
      facilitator.conduct = 'lies-success'
      facilitator.lie = lie.startsWith('a real') ? (told[0] ?? '') : lie
      const payment = await sign()
      await settle(payment)
      expect(await lookUp(payment, facilitator.lie)).toEqual({ kind: 'pending', sent: 'perhaps' })
      chain.ledger.expireBlockhash()
      chain.ledger.passBlocks(160n)
      expect(await lookUp(payment, facilitator.lie)).toMatchObject({ kind: 'impossible' })
    },
  )

  test.each(['lies-failure', 'breaks-off'] as const)(
    '%s after it has settled: the transfer is found without its help',
    async (conduct) => {
      facilitator.conduct = conduct
      const payment = await sign()
      expect(await settle(payment)).toMatchObject({ outcome: { kind: 'unknown' }, told: [] })
      // Other payments of the same wallet do not hide it, and cost no question each.
      for (let later = 0; later < 3; later++) await settle(await sign({ value: 1_000_000n }))
      const asked = chain.node.bodies.length
      expect(await lookUp(payment)).toEqual(paid(payment))
      // The cluster, its transactions, the one that fits.
      expect(chain.node.bodies.length - asked).toBe(3)
    },
  )
})

describe('a wrong setting is named:', () => {
  test.each([
    ['payTo', { payTo: 'x' }],
    ['asset', { asset: USDC_MINT.toLowerCase() }],
    ['privateKey', { facilitator: { kind: 'local', privateKey: 'x' } as const }],
    ['keep the keys apart', { payTo: SOLANA_FACILITATOR_ADDRESS }],
  ])('%s', (name, settings) => {
    expect(() => createSolanaTestNetwork(chain, settings)).toThrow(name)
  })
})
