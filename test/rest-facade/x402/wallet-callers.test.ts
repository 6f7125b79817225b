import { decodePaymentRequiredHeader } from '@x402/core/http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, testModels } from '../../support/app.ts'
import type { Json } from '../../support/event-stream.ts'
import { PAY_TO, startWalletApp, type WalletApp } from '../../support/wallet-app.ts'
import { fieldHeader, naclSigner, viemSigner } from '../../support/wallet-signers.ts'

const CHAT = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 }
const DEAR = {
  id: 'dear-model',
  type: 'text',
  providers: [{ id: 'main', model: 'upstream-model' }],
  name: 'Dear Model',
  pricing: { input: { usd: 1 }, output: { usd: 100_000 } },
}
let app: WalletApp
beforeAll(async () => {
  app = await startWalletApp({ file: { models: [...testModels(), DEAR] } })
})
afterAll(() => app.close())

const json = async (response: Response): Promise<Json> => response.json()
const post = (path: string, headers: Record<string, string> = {}, url = app.baseUrl) =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(CHAT),
  })

describe('a request without a credential', () => {
  test.each(['/chat/completions', '/embeddings', '/crypto/rpc/ethereum-mainnet'])(
    '%s says what to pay',
    async (path) => {
      const response = await post(path)
      expect(response.status).toBe(402)
      expect(response.headers.get('cache-control')).toBe('no-store')
      const { authOptions, ...body } = await json(response)
      expect(body).toMatchObject({
        x402Version: 2,
        resource: { url: `http://localhost:3000/api/v1${path}`, mimeType: 'application/json' },
        accepts: [{ scheme: 'exact', network: 'eip155:8453', amount: '10000000', payTo: PAY_TO }],
      })
      expect(authOptions).toMatchObject({ apiKey: {}, x402Wallet: { header: 'SIGN-IN-WITH-X' } })
      expect(decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '')).toEqual(body)
      const { info, supportedChains } = body.extensions['sign-in-with-x']
      expect(supportedChains.map(({ type }: Json) => type)).toEqual(['eip191', 'eip1271', 'ed25519'])
      // The challenge is ready to sign as it is.
      const answered = await post(path, { 'sign-in-with-x': await fieldHeader(viemSigner(), { fields: info }) })
      expect((await json(answered)).code).not.toMatch(/SIGN_IN/)
    },
  )

  test('the page that the operator wrote for callers is named, and none where there is none', async () => {
    const docsUrl = 'https://docs.example.com/start'
    await using documented = await startWalletApp({ file: { service: { docsUrl } } })
    const optionsOf = async (url?: string): Promise<Json> =>
      (await json(await post('/embeddings', {}, url))).authOptions
    const { apiKey, x402Wallet } = await optionsOf(documented.baseUrl)
    expect([apiKey.docs, x402Wallet.docs]).toEqual([docsUrl, docsUrl])
    expect((await optionsOf()).x402Wallet).toEqual({
      header: 'SIGN-IN-WITH-X',
      legacyHeader: 'X-Sign-In-With-X',
      topUp: 'http://localhost:3000/api/v1/x402/top-up',
    })
  })

  test('a route of keys keeps its 401', async () => {
    expect((await fetch(`${app.baseUrl}/api_keys`)).status).toBe(401)
  })

  test('a service that takes no payments keeps its 401', async () => {
    const plain = await startTestApp()
    const response = await post('/chat/completions', {}, plain.baseUrl)
    expect(response.status).toBe(401)
    expect(response.headers.get('payment-required')).toBeNull()
    await plain.close()
  })

  test('a wallet route asks for a signature, and offers nothing to pay', async () => {
    const response = await fetch(`${app.baseUrl}/x402/balance/${viemSigner().address}`)
    expect(response.status).toBe(402)
    expect(await json(response)).toMatchObject({ accepts: [], extensions: { 'sign-in-with-x': {} } })
  })
})

describe('a wallet with credit', () => {
  test.each([
    ['EVM', viemSigner],
    ['Solana', naclSigner],
  ])('on %s calls a model, and gets its remaining balance', async (_name, create) => {
    const { signer, accountId } = await app.createWallet(1_000_000_000n, create())
    const response = await app.call(signer, '/chat/completions', { body: CHAT })
    expect(response.status).toBe(200)
    const balance = await app.balanceNanoUsd(accountId)
    expect(balance).toBeLessThan(1_000_000_000n)
    const micro = (balance / 1_000n).toString().padStart(7, '0')
    expect(response.headers.get('x-balance-remaining')).toBe(`${micro.slice(0, -6)}.${micro.slice(-6)}`)
    expect(response.headers.get('x-service-balance-usd')).toBe('1')
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('500')
  })

  test('streams, with the balance of the moment in its head', async () => {
    const { signer } = await app.createWallet(1_000_000_000n)
    const response = await app.call(signer, '/chat/completions', { body: { ...CHAT, stream: true } })
    expect(response.headers.get('x-balance-remaining')).toBe('1.000000')
    expect(await response.text()).toContain('[DONE]')
  })

  test('wins over a key of the same request, and means nothing where wallets are not served', async () => {
    const { signer, accountId } = await app.createWallet(1_000_000_000n)
    const { adminKey, accountId: keyAccountId } = await app.createAccount()
    const authorization = `Bearer ${adminKey}`
    expect((await app.call(signer, '/chat/completions', { body: CHAT, headers: { authorization } })).status).toBe(200)
    expect(await app.balanceNanoUsd(accountId)).toBeLessThan(1_000_000_000n)
    expect(await app.balanceNanoUsd(keyAccountId)).toBe(1_000_000_000n)
    expect((await app.call(signer, '/api_keys')).status).toBe(401)
    expect((await app.call(signer, '/api_keys', { headers: { authorization } })).status).toBe(200)
  })

  test('signs under the legacy header as well, and once', async () => {
    const { signer } = await app.createWallet(1_000_000_000n)
    const header = await fieldHeader(signer)
    expect((await post('/chat/completions', { 'X-Sign-In-With-X': header })).status).toBe(200)
    const again = await post('/chat/completions', { 'SIGN-IN-WITH-X': header })
    expect(again.status).toBe(401)
    expect(await json(again)).toMatchObject({ code: 'X402_SIGN_IN_NONCE_REUSED' })
  })

  test('a nonce is used up even when the request fails', async () => {
    const { signer } = await app.createWallet(1_000_000_000n)
    const header = await fieldHeader(signer)
    const broken = await fetch(`${app.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sign-in-with-x': header },
      body: '{}',
    })
    expect(broken.status).toBe(400)
    expect((await post('/chat/completions', { 'sign-in-with-x': header })).status).toBe(401)
  })

  test('a rejected signature says why in both forms of errors', async () => {
    const signer = { ...naclSigner(), sign: naclSigner().sign }
    const plain = await app.call(signer, '/chat/completions', { body: CHAT })
    expect(plain.status).toBe(401)
    expect(await json(plain)).toMatchObject({ code: 'X402_SIGN_IN_INVALID_SIGNATURE' })
    const headers = { 'x-service-error-format': 'openai' }
    const openAi = await app.call(signer, '/chat/completions', { body: CHAT, headers })
    expect((await json(openAi)).error).toMatchObject({ code: 'X402_SIGN_IN_INVALID_SIGNATURE' })
  })

  test('repeats a request under its idempotency key with a fresh signature, and pays once', async () => {
    const { signer, accountId } = await app.createWallet(1_000_000_000n)
    const headers = { 'idempotency-key': 'once' }
    const first = await app.call(signer, '/chat/completions', { body: CHAT, headers })
    const paid = await app.balanceNanoUsd(accountId)
    const second = await app.call(signer, '/chat/completions', { body: CHAT, headers })
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('x-balance-remaining')).toBe(first.headers.get('x-balance-remaining'))
    expect(await app.balanceNanoUsd(accountId)).toBe(paid)
  })
})

describe('a wallet that is short of money', () => {
  const shortOf = async (balanceNanoUsd: bigint | null, body: unknown = CHAT) => {
    const signer = viemSigner()
    if (balanceNanoUsd !== null) await app.createWallet(balanceNanoUsd, signer)
    return app.call(signer, '/chat/completions', { body })
  }

  test.each([
    ['without any credit', null, 0],
    ['below the minimum, though the request costs less', 99_999_999n, 0.099999999],
  ])('%s gets instructions to top up', async (_name, balanceNanoUsd, currentBalanceUsd) => {
    const response = await shortOf(balanceNanoUsd)
    expect(response.status).toBe(402)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-balance-remaining')).toBe(balanceNanoUsd === null ? '0.000000' : '0.099999')
    expect(response.headers.get('x-service-balance-usd')).toBe(String(currentBalanceUsd))
    expect(response.headers.get('x-service-balance-diem')).toBe('0')
    expect(decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '').accepts).toHaveLength(1)
    expect(await json(response)).toMatchObject({
      error: 'Payment required',
      code: 'PAYMENT_REQUIRED',
      reason: 'insufficient_balance',
      currentBalanceUsd,
      minimumBalanceUsd: 0.1,
      suggestedTopUpUsd: 10,
      minimumTopUpUsd: 5,
      supportedTokens: ['USDC'],
      supportedChains: ['base'],
      topUpInstructions: { receiverWallet: PAY_TO, tokenDecimals: 6, network: 'eip155:8453', minimumAmountUsd: 5 },
      siwxChallenge: { info: { domain: 'localhost:3000' } },
    })
  })

  test('may call with exactly the minimum balance', async () => {
    expect((await shortOf(100_000_000n)).status).toBe(200)
  })

  test('a request that costs more than it has is rejected in the same way', async () => {
    const response = await shortOf(100_000_000n, { ...CHAT, model: 'dear-model' })
    expect(response.status).toBe(402)
    expect(await json(response)).toMatchObject({ code: 'PAYMENT_REQUIRED', currentBalanceUsd: 0.1 })
  })

  test('leaves no hold and no row behind', async () => {
    const { signer, accountId } = await app.createWallet(50_000_000n)
    await app.call(signer, '/chat/completions', { body: CHAT })
    const [usd] = await app.app.services.money.ledger.balances(accountId)
    expect(usd).toMatchObject({ balanceNanoUsd: 50_000_000n, heldNanoUsd: 0n })
    const before = await app.database.db.selectFrom('accounts').select('account_id').execute()
    await shortOf(null)
    expect(await app.database.db.selectFrom('accounts').select('account_id').execute()).toHaveLength(before.length)
    await app.assertLedgerClean()
  })
})

describe("a wallet's view of its account", () => {
  test('shows a balance of zero to a fresh wallet', async () => {
    const signer = viemSigner()
    const response = await app.call(signer, `/x402/balance/${signer.address}`)
    expect(await json(response)).toEqual({
      success: true,
      data: {
        walletAddress: signer.address.toLowerCase(),
        balanceUsd: 0,
        canConsume: false,
        minimumTopUpUsd: 5,
        suggestedTopUpUsd: 10,
      },
    })
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('30')
    expect(response.headers.get('x-service-balance-usd')).toBe('0')
    expect(response.headers.get('x-balance-remaining')).toBe('0.000000')
    const transactions = await app.call(signer, `/x402/transactions/${signer.address}`)
    expect(await json(transactions)).toMatchObject({ data: { transactions: [], pagination: { hasMore: false } } })
  })

  test('lists its transactions consistently, newest first, page by page', async () => {
    const { signer } = await app.createWallet(1_000_000_000n)
    for (let charge = 0; charge < 3; charge++) {
      expect((await app.call(signer, '/chat/completions', { body: CHAT })).status).toBe(200)
    }
    const read = async (query = '') =>
      (await json(await app.call(signer, `/x402/transactions/${signer.address}${query}`))).data
    const all = await read()
    expect(all.transactions.map(({ type }: Json) => type)).toEqual(['CHARGE', 'CHARGE', 'CHARGE', 'TOP_UP'])
    expect(all.transactions[0]).toMatchObject({ modelId: 'test-model', balanceAfter: all.currentBalance })
    expect(all.transactions[0].requestId).toMatch(/^[0-9a-f]{32}$/)
    for (let row = 0; row < 3; row++) {
      const [newer, older] = all.transactions.slice(row, row + 2)
      expect(newer.balanceAfter - newer.amount).toBeCloseTo(older.balanceAfter, 9)
    }
    const pages = [await read('?limit=2'), await read('?limit=2&offset=2')]
    expect(pages.flatMap(({ transactions }) => transactions)).toEqual(all.transactions)
    expect(pages.map(({ pagination }) => pagination.hasMore)).toEqual([true, false])
  })

  test.each(['limit=0', 'limit=101', 'limit=x', 'offset=-1'])('rejects a page with %s', async (query) => {
    const signer = viemSigner()
    expect((await app.call(signer, `/x402/transactions/${signer.address}?${query}`)).status).toBe(400)
  })

  test('contains no other wallet, not even whether that has an account', async () => {
    const signer = viemSigner()
    const { signer: known } = await app.createWallet(1_000_000_000n)
    for (const { address } of [known, viemSigner(), naclSigner()]) {
      for (const path of ['balance', 'transactions']) {
        const response = await app.call(signer, `/x402/${path}/${address}`)
        expect(response.status).toBe(403)
        expect(await json(response)).toEqual({
          error: `The request was signed by another wallet, ${signer.address.toLowerCase()}`,
          code: 'X402_WALLET_MISMATCH',
        })
      }
    }
    expect((await app.call(viemSigner(), '/x402/balance/nonsense')).status).toBe(400)
  })

  test('is not readable with a key', async () => {
    const { adminKey } = await app.createAccount()
    const headers = { authorization: `Bearer ${adminKey}` }
    expect((await fetch(`${app.baseUrl}/x402/balance/${viemSigner().address}`, { headers })).status).toBe(402)
  })
})
