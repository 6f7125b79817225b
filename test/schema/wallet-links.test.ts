import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { TestAccount } from '../support/app.ts'
import { type BaseChain, FACILITATOR_KEY, MERCHANT_ADDRESS, startBaseChain } from '../support/base-chain.ts'
import { baseRequirement, createFundedPayer, signAuthorization } from '../support/base-payments.ts'
import { codes, readAnswer } from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'
import { usageOf } from '../support/money-harness.ts'
import { paymentHeader } from '../support/payment-headers.ts'
import { startWalletApp, type WalletApp } from '../support/wallet-app.ts'
import {
  fieldHeader,
  naclSigner,
  SERVICE_ORIGIN,
  type SignInOptions,
  viemSigner,
  type WalletSigner,
} from '../support/wallet-signers.ts'

const LINK = `mutation ($payload: String!) {
  linkWallet(input: { payload: $payload }) { movedUsd movedDiem linkedWallet { linkedAt wallet { chain address } } }
}`
const UNLINK =
  'mutation ($address: String!) { unlinkWallet(input: { address: $address }) { linkedWallet { wallet { address } } } }'
const CHAT = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 }
const USD = 1_000_000_000n

const redisUrl = inject('redisUrl')
let chain: BaseChain
let app: WalletApp
beforeAll(async () => {
  chain = await startBaseChain()
  const base = {
    payTo: MERCHANT_ADDRESS,
    rpcUrl: chain.url,
    facilitator: { kind: 'local', privateKey: FACILITATOR_KEY },
  }
  app = await startWalletApp({ file: { x402: { base } }, ...(redisUrl === null ? {} : { redisUrl }) })
})
afterAll(async () => {
  await app.assertLedgerClean()
  await app.close()
  await chain.close()
})

async function run(query: string, variables: object, token: string) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  return readAnswer(
    await fetch(`${app.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query, variables }) }),
  )
}

function linkPayload(signer: WalletSigner, accountId: string, options: SignInOptions = {}): Promise<string> {
  const resources = [`${SERVICE_ORIGIN}/wallet-links/${accountId}`]
  const fields = { statement: `Link this wallet to account ${accountId}`, resources, ...options.fields }
  return fieldHeader(signer, { ...options, fields })
}

async function link(signer: WalletSigner, { accountId, adminKey }: TestAccount) {
  return run(LINK, { payload: await linkPayload(signer, accountId) }, adminKey)
}

const balanceOf = async (signer: WalletSigner) => {
  const response = await app.call(signer, `/x402/balance/${signer.address}`)
  return (await response.json()).data
}
const rowsOf = async (accountId: string) => {
  const { items } = await app.app.services.money.ledger.listTransfers(accountId, { first: 20 })
  return items.map(({ kind, amountNanoUsd }) => [kind, amountNanoUsd])
}
const walletOf = (signer: WalletSigner) => ({
  chain: signer.chain,
  address: signer.chain === 'evm' ? signer.address.toLowerCase() : signer.address,
})

describe('linkWallet', () => {
  test.each([
    ['EVM', viemSigner],
    ['SOLANA', naclSigner],
  ])(
    '%s: moves the free balance by two transfers; afterwards the wallet acts as the account',
    async (chainName, create) => {
      const { signer, accountId: ownId } = await app.createWallet(3n * USD, create())
      const account = await app.createAccount({ grantNanoUsd: 2n * USD })
      const { data, errors } = await link(signer, account)
      expect(errors).toEqual([])
      const wallet = { chain: chainName, address: walletOf(signer).address }
      expect(data.linkWallet).toMatchObject({ movedUsd: '3', movedDiem: '0', linkedWallet: { wallet } })
      expect(await rowsOf(ownId)).toEqual([
        ['transfer', -3n * USD],
        ['grant', 3n * USD],
      ])
      expect(await rowsOf(account.accountId)).toEqual([
        ['transfer', 3n * USD],
        ['grant', 2n * USD],
      ])
      expect(await balanceOf(signer)).toMatchObject({ balanceUsd: 5, canConsume: true })
      const answered = await app.call(signer, '/chat/completions', { body: CHAT })
      expect(answered.status).toBe(200)
      expect(Number(answered.headers.get('x-balance-remaining'))).toBeLessThan(5)
      expect((await rowsOf(account.accountId))[0]?.[0]).toBe('charge')
      const { data: seen } = await run(
        '{ viewer { wallet { address } wallets { wallet { chain address } } } }',
        {},
        account.adminKey,
      )
      expect(seen.viewer).toEqual({ wallet: null, wallets: [{ wallet }] })
      // An operator who looks for the wallet finds both accounts.
      const found = await app.app.services.accounts.list({ first: 10, wallet: walletOf(signer) })
      expect(new Set(found.items.map(({ id }) => id))).toEqual(new Set([ownId, account.accountId]))
      await app.assertLedgerClean()
    },
  )

  test('signs the challenge of the account, and a wallet without an account of its own links too', async () => {
    const account = await app.createAccount()
    const { data } = await run(
      '{ walletLinkChallenge { info { domain uri version nonce issuedAt expirationTime statement resources } } }',
      {},
      account.adminKey,
    )
    expect(data.walletLinkChallenge.info.statement).toContain(account.accountId)
    const payload = await fieldHeader(viemSigner(), { fields: data.walletLinkChallenge.info })
    const { errors } = await run(LINK, { payload }, account.adminKey)
    expect(errors).toEqual([])
    expect(codes(await run(LINK, { payload }, account.adminKey))).toEqual(['UNAUTHENTICATED'])
  })

  test('a sign-in links nothing, a link signs in nowhere, and one for another account is none', async () => {
    const [account, other] = [await app.createAccount(), await app.createAccount()]
    const signer = viemSigner()
    for (const payload of [
      await fieldHeader(signer),
      await linkPayload(signer, other.accountId),
      // Nobody shall be made to sign a link that calls itself something else.
      await linkPayload(signer, account.accountId, { fields: { statement: 'Sign in' } }),
      await linkPayload(signer, account.accountId, {
        fields: {
          resources: [account, other].map(({ accountId }) => `${SERVICE_ORIGIN}/wallet-links/${accountId}`),
        },
      }),
    ]) {
      const { errors } = await run(LINK, { payload }, account.adminKey)
      expect(errors[0]?.extensions).toMatchObject({ reason: 'X402_SIGN_IN_INVALID_MESSAGE' })
    }
    const headers = { 'sign-in-with-x': await linkPayload(signer, account.accountId) }
    const refused = await app.call(signer, '/chat/completions', { body: CHAT, headers })
    expect(refused.status).toBe(401)
    expect((await refused.json()).code).toBe('X402_SIGN_IN_INVALID_MESSAGE')
    // Refused as a sign-in, it still does what it was signed for.
    const { errors } = await run(LINK, { payload: headers['sign-in-with-x'] }, account.adminKey)
    expect(errors).toEqual([])
  })

  test('a wallet has one account; only its ADMIN keys link and unlink', async () => {
    const [account, other] = [await app.createAccount(), await app.createAccount()]
    const signer = viemSigner()
    await link(signer, account)
    expect(codes(await link(signer, other))).toEqual(['CONFLICT'])
    expect(codes(await run(UNLINK, { address: signer.address }, other.adminKey))).toEqual(['NOT_FOUND'])
    const payload = await fieldHeader(signer)
    const { data } = await run(
      'mutation ($payload: String!) { signInWithWallet(input: { payload: $payload }) { sessionToken accountId } }',
      { payload },
      account.adminKey,
    )
    expect(data.signInWithWallet.accountId).toBe(account.accountId)
    const token = data.signInWithWallet.sessionToken
    expect(codes(await run(UNLINK, { address: signer.address }, token))).toEqual(['FORBIDDEN'])
    expect(codes(await run(LINK, { payload: 'x' }, token))).toEqual(['FORBIDDEN'])
    expect((await run('{ viewer { accountId kind } }', {}, token)).data.viewer).toEqual({
      accountId: account.accountId,
      kind: 'USER',
    })
  })

  test('an account has 20 wallets at most, however many link at once', async () => {
    const account = await app.createAccount()
    const answers = await Promise.all(Array.from({ length: 23 }, () => link(viemSigner(), account)))
    expect(answers.flatMap(codes)).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT'])
    expect((await app.app.services.wallets.links.list(account.accountId)).length).toBe(20)
  })

  test('gives a wallet and its money to only one of two accounts that link it at once', async () => {
    const { signer } = await app.createWallet(7n * USD)
    const accounts = await Promise.all(Array.from({ length: 4 }, () => app.createAccount({ grantNanoUsd: 0n })))
    const answers = await Promise.all(accounts.map((account) => link(signer, account)))
    expect(answers.flatMap(codes)).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT'])
    const balances = await Promise.all(accounts.map(({ accountId }) => app.balanceNanoUsd(accountId)))
    expect(balances.toSorted((a, b) => Number(a - b))).toEqual([0n, 0n, 0n, 7n * USD])
  })

  test('a suspended wallet cannot leave its suspension', async () => {
    const { signer, accountId } = await app.createWallet(USD)
    await app.app.services.accounts.suspend(accountId, 'test')
    expect(codes(await link(signer, await app.createAccount()))).toEqual(['FORBIDDEN'])
  })

  test('a request that runs settles where it began; a repeat of the link brings what it left', async () => {
    const { signer, accountId: ownId } = await app.createWallet(4n * USD)
    const account = await app.createAccount({ grantNanoUsd: 0n })
    const { services } = app.app
    const caller = await services.wallets.accounts.callerOf(walletOf(signer))
    const running = await services.money.metering.open({
      context: { requestId: services.ids.requestId(), caller, signal: new AbortController().signal },
      plan: services.limits.ratePlans.planForText(caller, { id: 'test-model', tier: 'M' }, 10),
      holdNanoUsd: 3n * USD,
    })
    expect((await link(signer, account)).data.linkWallet.movedUsd).toBe('1')
    await running.settle(usageOf(USD))
    expect([await app.balanceNanoUsd(ownId), await app.balanceNanoUsd(account.accountId)]).toEqual([2n * USD, USD])
    expect((await link(signer, account)).data.linkWallet.movedUsd).toBe('2')
    expect(await app.balanceNanoUsd(account.accountId)).toBe(3n * USD)
    await app.assertLedgerClean()
  })

  test("moves the rest of the wallet's DIEM of the day as DIEM", async () => {
    const { signer, accountId: ownId } = await app.createWallet(USD)
    await app.app.services.accounts.setStake(ownId, 5n * USD)
    const account = await app.createAccount({ grantNanoUsd: 0n })
    expect((await link(signer, account)).data.linkWallet).toMatchObject({ movedUsd: '1', movedDiem: '5' })
    expect(await balanceOf(signer)).toMatchObject({ balanceUsd: 1, diemBalanceUsd: 5 })
    const answered = await app.call(signer, '/chat/completions', { body: CHAT })
    expect(answered.headers.get('x-service-balance-diem')).toBe('5')
    expect(await balanceOf(signer)).toMatchObject({ balanceUsd: 1 })
  })
})

test('a move of which one side is missing is found by verify', async () => {
  const { signer, accountId: ownId } = await app.createWallet(USD)
  const account = await app.createAccount({ grantNanoUsd: 0n })
  await link(signer, account)
  const { db } = app.database
  const sides = db.updateTable('ledger_transfers').where('kind', '=', 'transfer').where('account_id', '=', ownId)
  const broken = async () =>
    (await app.app.services.money.ledger.verify()).checks.filter(({ ok }) => !ok).map(({ id }) => id)
  const { reference } = await db
    .selectFrom('ledger_transfers')
    .select('reference')
    .where('account_id', '=', ownId)
    .where('kind', '=', 'transfer')
    .executeTakeFirstOrThrow()
  await sides.set({ reference: 'another' }).execute()
  expect(await broken()).toEqual(['I11'])
  await sides.set({ reference }).execute()
  expect(await broken()).toEqual([])
})

describe('unlinkWallet', () => {
  test('gives the wallet its own account back and moves no money', async () => {
    const { signer, accountId: ownId } = await app.createWallet(2n * USD)
    const account = await app.createAccount({ grantNanoUsd: 0n })
    await link(signer, account)
    const { data } = await run(UNLINK, { address: signer.address }, account.adminKey)
    expect(data.unlinkWallet.linkedWallet.wallet.address).toBe(walletOf(signer).address)
    expect(await balanceOf(signer)).toMatchObject({ balanceUsd: 0, canConsume: false })
    expect([await app.balanceNanoUsd(ownId), await app.balanceNanoUsd(account.accountId)]).toEqual([0n, 2n * USD])
    expect(codes(await run(UNLINK, { address: signer.address }, account.adminKey))).toEqual(['NOT_FOUND'])
    expect(codes(await run(UNLINK, { address: '0x12' }, account.adminKey))).toEqual(['BAD_USER_INPUT'])
  })
})

describe('a linked wallet', () => {
  test('pays into the account, also when the payment and the link come at once', async () => {
    const account = await app.createAccount({ grantNanoUsd: 0n })
    const payers = await Promise.all(Array.from({ length: 6 }, () => createFundedPayer(chain)))
    const ownIds = await Promise.all(
      payers.map(async (payer) => {
        const signer = {
          chain: 'evm' as const,
          address: payer.address,
          sign: (message: string) => payer.signMessage({ message }),
        }
        const payload = await signAuthorization(payer)
        const own = await app.app.services.wallets.accounts.callerOf(walletOf(signer))
        const [paid, linked] = await Promise.all([
          fetch(`${app.baseUrl}/x402/top-up`, {
            method: 'POST',
            headers: paymentHeader(baseRequirement(), payload),
          }),
          link(signer, account),
        ])
        expect([paid.status, linked.errors]).toEqual([200, []])
        return own.accountId
      }),
    )
    expect(await app.balanceNanoUsd(account.accountId)).toBe(30n * USD)
    for (const ownId of ownIds) expect(await app.balanceNanoUsd(ownId)).toBe(0n)
    await app.assertLedgerClean()
  })

  test('leaves the sockets of its session, which watch another account', async () => {
    const signer = viemSigner()
    const account = await app.createAccount()
    const services = app.app.services
    const { sessionToken } = await services.wallets.sessions.issue(
      await services.wallets.accounts.callerOf(walletOf(signer)),
    )
    const socket = await GraphqlSocket.open(`${app.url.replace('http', 'ws')}/graphql`, sessionToken)
    await link(signer, account)
    const { code, reason } = await socket.closed
    expect([code, reason]).toEqual([4403, expect.stringContaining('connect again')])
    const again = await GraphqlSocket.open(`${app.url.replace('http', 'ws')}/graphql`, sessionToken)
    await run(UNLINK, { address: signer.address }, account.adminKey)
    expect((await again.closed).code).toBe(4403)
  })

  test.runIf(redisUrl !== null)('is the account in every process', async () => {
    await using twin = await app
      .startTwin()
      .then((other) => Object.assign(other, { [Symbol.asyncDispose]: () => other.close() }))
    const { signer, accountId: ownId } = await app.createWallet(USD)
    const wallet = walletOf(signer)
    const { accounts: walletAccounts } = twin.services.wallets
    const before = await walletAccounts.callerOf(wallet)
    expect(before.accountId).toBe(ownId)
    const told = new Promise<void>((resolve) => walletAccounts.onChanged(before, resolve))
    const account = await app.createAccount()
    await link(signer, account)
    await told
    expect((await walletAccounts.callerOf(wallet)).accountId).toBe(account.accountId)
  })
})
