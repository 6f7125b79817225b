import { address, getBase58Decoder } from '@solana/kit'
import nacl from 'tweetnacl'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  AuthenticationError,
  type ClientOptions,
  createClient,
  fromViem,
  InsufficientBalanceError,
  SluiceError,
  toNanoUsd,
  ValidationError,
  type Wallet,
} from '../../../client/sdk/index.ts'
import { fromBase58, toBase58 } from '../../../client/sdk/wallet/base58.ts'
import { deriveAddress } from '../../../client/sdk/wallet/solana-accounts.ts'
import { MERCHANT_ADDRESS } from '../../support/base-chain.ts'
import { createFundedPayer, createPayer } from '../../support/base-payments.ts'
import { type FlakyProxy, startFlakyProxy } from '../../support/flaky-proxy.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'
import { errorOf, say } from '../../support/sdk-harness.ts'
import { SOLANA_MERCHANT_ADDRESS, TOKEN_PROGRAM, tokenAccountOf, USDC_MINT } from '../../support/solana-chain.ts'

/** What the application believes its address to be. */
const PUBLIC_URL = 'http://localhost:3000'

const TOKEN_ACCOUNTS = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'

let app: PaymentsApp
let proxy: FlakyProxy

beforeAll(async () => {
  app = await startPaymentsApp()
  proxy = await startFlakyProxy(app.server.url)
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await app.server.assertLedgerClean()
  await app.close()
})

const connect = (wallet: Wallet, options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: proxy.url, publicUrl: PUBLIC_URL, wallet, wait: async () => {}, ...options })

/** A wallet on Base with 20 USDC. */
async function fundedWallet(): Promise<Wallet> {
  return fromViem(await createFundedPayer(app.base))
}

function solanaWallet(form: 'bytes' | 'text'): Wallet {
  const { publicKey, secretKey } = nacl.sign.keyPair()
  return {
    address: getBase58Decoder().decode(publicKey),
    latestBlockhash: async () => app.solana.ledger.svm.latestBlockhash(),
    signTransaction: (transaction) => {
      // Two signatures come before the message; the second one is the wallet's.
      const signed = transaction.slice()
      signed.set(nacl.sign.detached(transaction.slice(1 + 2 * 64), secretKey), 1 + 64)
      return signed
    },
    signMessage: (message) => {
      const signature = nacl.sign.detached(new TextEncoder().encode(message), secretKey)
      return form === 'bytes' ? signature : getBase58Decoder().decode(signature)
    },
  }
}

describe('a wallet on Base', () => {
  test('tops up, and the chain and the ledger move by the same amount', async () => {
    const sluice = connect(await fundedWallet())
    const before = await app.base.balanceOf(MERCHANT_ADDRESS)
    const { data } = await sluice.wallet.topUp({ usd: '5.123456' }).withResponse()
    expect(data).toMatchObject({ amountCredited: 5.123456, newBalance: 5.123456 })
    expect((await app.base.balanceOf(MERCHANT_ADDRESS)) - before).toBe(5_123_456n)
    const balance = await sluice.wallet.balance().withResponse()
    expect(balance.data).toMatchObject({ balanceUsd: 5.123456, canConsume: true })
    expect(toNanoUsd(balance.response.walletBalanceUsd ?? '')).toBe(5_123_456_000n)
  })

  test('calls models, streams and reads its transactions, each by a signature of its own', async () => {
    const sluice = connect(await fundedWallet())
    await sluice.wallet.topUp({ usd: '5' })
    const { response } = await sluice.chat.completions.create(say('Hello')).withResponse()
    expect(response.walletBalanceUsd).not.toBeNull()
    const stream = await sluice.chat.completions.create({ ...say('Hello'), stream: true })
    for await (const _chunk of stream);
    expect(stream.cost?.nanoUsd).toBe(response.cost?.nanoUsd)
    const kinds: string[] = []
    for await (const { type } of sluice.wallet.transactions({ pageSize: 1 })) kinds.push(type)
    expect(kinds).toEqual(['CHARGE', 'CHARGE', 'TOP_UP'])
  })

  test('signs each retry anew, and is charged once', async () => {
    const sluice = connect(await fundedWallet())
    await sluice.wallet.topUp({ usd: '5' })
    proxy.seen.length = 0
    proxy.fail({ kind: 'lost-answer' })
    const { response } = await sluice.chat.completions.create(say('Hello')).withResponse()
    expect(response.replayed).toBe(true)
    expect(new Set(proxy.seen.map(({ headers }) => headers['sign-in-with-x'])).size).toBe(2)
    const types = []
    for await (const { type } of sluice.wallet.transactions()) types.push(type)
    expect(types).toEqual(['CHARGE', 'TOP_UP'])
  })

  test('reads its account over GraphQL, and watches its balance, by one signature', async () => {
    let signatures = 0
    const wallet = await fundedWallet()
    const counted: Wallet = {
      ...wallet,
      signMessage: (message) => {
        signatures++
        return wallet.signMessage(message)
      },
    }
    const sluice = connect(counted)
    await sluice.wallet.topUp({ usd: '5' })
    const [account, changes] = [sluice.account.retrieve(), sluice.balanceChanges()]
    expect(await account).toMatchObject({ kind: 'WALLET', balances: [{ currency: 'USD', balance: '5' }] })
    expect((await changes.next()).value).toMatchObject({ balances: [{ balance: '5' }] })
    for await (const { kind, amount } of sluice.ledger.list())
      expect({ kind, amount }).toEqual({ kind: 'TOP_UP', amount: '5' })
    await changes.return?.()
    expect(signatures).toBe(1)
  })

  test('pays once although the response was lost, or was not known at first', async () => {
    const sluice = connect(await fundedWallet())
    const payment = await sluice.wallet.signTopUp({ usd: '5' })
    proxy.fail({ kind: 'lost-answer' }, { kind: 'status', status: 202, body: { success: false, retryAfterSeconds: 5 } })
    const paid = await sluice.wallet.pay(payment)
    expect(await sluice.wallet.pay(payment)).toEqual(paid)
    expect((await sluice.wallet.balance()).balanceUsd).toBe(5)
  })

  test('gets the payment options if it has no money', async () => {
    const sluice = connect(fromViem(createPayer()))
    const error = await errorOf(sluice.chat.completions.create(say('Hello')))
    expect(error).toBeInstanceOf(InsufficientBalanceError)
    expect(error).toMatchObject({ code: 'PAYMENT_REQUIRED', body: { currentBalanceUsd: 0, minimumTopUpUsd: 5 } })
    expect(await errorOf(sluice.wallet.topUp({ usd: '5' }))).toMatchObject({ code: 'PAYMENT_VERIFICATION_FAILED' })
  })

  test('signs no payment that is too exact, too small for the service, or in another token', async () => {
    const sluice = connect(await fundedWallet())
    expect(await errorOf(sluice.wallet.topUp({ usd: '5.1234567' }))).toBeInstanceOf(RangeError)
    const small = await errorOf(sluice.wallet.topUp({ usd: '4.999999' }))
    expect(small).toBeInstanceOf(ValidationError)
    expect(small).toMatchObject({ code: 'AMOUNT_TOO_LOW' })
    const offer = {
      scheme: 'exact',
      network: 'eip155:8453',
      amount: '1',
      asset: MERCHANT_ADDRESS,
      payTo: MERCHANT_ADDRESS,
    }
    proxy.fail({ kind: 'status', status: 402, body: { x402Version: 2, accepts: [offer] } })
    const other = await errorOf(sluice.wallet.topUp({ usd: '5' }))
    expect(other).toBeInstanceOf(SluiceError)
    expect(other).toMatchObject({ message: expect.stringContaining('not USDC') })
  })

  test('is rejected if only keys are served, with a wrong origin, and for another wallet', async () => {
    const wallet = await fundedWallet()
    expect(await errorOf(connect(wallet).apiKeys.list())).toBeInstanceOf(AuthenticationError)
    const elsewhere = connect(wallet, { publicUrl: 'https://elsewhere.example' })
    expect(await errorOf(elsewhere.wallet.balance())).toMatchObject({ status: 401 })
    const stranger = connect({ ...(await fundedWallet()), signMessage: (message) => wallet.signMessage(message) })
    expect(await errorOf(stranger.wallet.balance())).toBeInstanceOf(AuthenticationError)
  })
})

describe('a wallet on Solana', () => {
  test.each(['bytes', 'text'] as const)('signs in, with its signature as %s', async (form) => {
    const sluice = connect(solanaWallet(form))
    expect(await sluice.wallet.balance()).toMatchObject({ balanceUsd: 0, canConsume: false })
    expect(await sluice.account.retrieve()).toMatchObject({ kind: 'WALLET', balances: [] })
  })
})

describe('a payment on Solana', () => {
  test('is credited once, and the chain and the ledger move by the same amount', async () => {
    const wallet = solanaWallet('text')
    await app.solana.fund(address(wallet.address), 20_000_000n)
    const before = await app.solana.balanceOf(SOLANA_MERCHANT_ADDRESS)
    const sluice = connect(wallet)
    const payment = await sluice.wallet.signTopUp({ usd: '7.5' })
    const paid = await sluice.wallet.pay(payment)
    expect(paid).toMatchObject({ walletAddress: wallet.address, amountCredited: 7.5, newBalance: 7.5 })
    expect(await sluice.wallet.pay(payment)).toEqual(paid)
    expect((await app.solana.balanceOf(SOLANA_MERCHANT_ADDRESS)) - before).toBe(7_500_000n)
    await sluice.wallet.topUp({ usd: '5' })
    expect((await sluice.wallet.balance()).balanceUsd).toBe(12.5)
  })

  test('goes to the token accounts that stock libraries derive', async () => {
    const owners = Array.from({ length: 20 }, () => getBase58Decoder().decode(nacl.sign.keyPair().publicKey))
    for (const owner of owners) {
      const derived = await deriveAddress([owner, TOKEN_PROGRAM, USDC_MINT].map(fromBase58), fromBase58(TOKEN_ACCOUNTS))
      expect(toBase58(derived)).toBe(await tokenAccountOf(address(owner)))
    }
  })
})

test('a client without a wallet says so', async () => {
  const sluice = createClient({ baseUrl: proxy.url })
  expect(() => sluice.wallet.balance()).toThrow(SluiceError)
  expect(await errorOf(sluice.wallet.topUp({ usd: '5' }))).toBeInstanceOf(SluiceError)
})
