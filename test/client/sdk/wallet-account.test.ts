import { parseEther } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ConflictError,
  createClient,
  fromViem,
  NotFoundError,
  PermissionError,
  ServerError,
  signChallenge,
  ValidationError,
  type Wallet,
} from '../../../client/sdk/index.ts'
import { STAKING_ADDRESS } from '../../support/base-chain.ts'
import { createPayer } from '../../support/base-payments.ts'
import { startFlakyProxy } from '../../support/flaky-proxy.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'
import { errorOf } from '../../support/sdk-harness.ts'
import { fieldHeader, naclSigner, type WalletSigner } from '../../support/wallet-signers.ts'

const publicUrl = 'http://localhost:3000'

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp({ solana: null, file: { staking: { contract: STAKING_ADDRESS } } })
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

const asWallet = (wallet: Wallet) => createClient({ baseUrl: app.server.url, publicUrl, wallet })
const createOwner = async () => {
  const { adminKey, accountId } = await app.server.createAccount()
  return { accountId, sluice: createClient({ baseUrl: app.server.url, apiKey: adminKey }) }
}
const revokedSessions = () => app.server.database.db.selectFrom('revoked_wallet_sessions').selectAll().execute()
const solanaWallet = ({ address, sign }: WalletSigner): Wallet => ({ address, signMessage: sign })

describe('the wallets of an account', () => {
  test.each<[string, () => Wallet]>([
    ['Base', () => fromViem(createPayer())],
    ['Solana', () => solanaWallet(naclSigner())],
  ])('on %s are linked, listed and unlinked', async (_chain, create) => {
    const { sluice, accountId } = await createOwner()
    const wallet = create()
    const { data, response } = await sluice.account.linkWallet(wallet).withResponse()
    expect(data).toMatchObject({ movedUsd: '0', movedDiem: '0' })
    expect(response.status).toBe(200)
    expect(await sluice.account.wallets()).toEqual([data.linkedWallet])
    expect(await asWallet(wallet).account.retrieve()).toMatchObject({ accountId })
    expect(await sluice.account.unlinkWallet(wallet.address)).toEqual(data.linkedWallet)
    expect(await sluice.account.wallets()).toEqual([])
    expect(await errorOf(sluice.account.unlinkWallet(wallet.address))).toBeInstanceOf(NotFoundError)
  })

  test('are linked by a message that a wallet signed elsewhere', async () => {
    const { sluice } = await createOwner()
    const wallet = fromViem(createPayer())
    const signed = await signChallenge(wallet, await sluice.account.walletLinkChallenge())
    const { linkedWallet } = await sluice.account.linkWallet(signed)
    expect(linkedWallet.wallet).toEqual({ chain: 'EVM', address: wallet.address.toLowerCase() })
  })

  test('belong to one account each, and require an ADMIN key', async () => {
    const wallet = fromViem(createPayer())
    await (await createOwner()).sluice.account.linkWallet(wallet)
    const { sluice } = await createOwner()
    expect(await errorOf(sluice.account.linkWallet(wallet))).toBeInstanceOf(ConflictError)
    expect(await errorOf(asWallet(wallet).account.linkWallet(wallet))).toBeInstanceOf(PermissionError)
  })
})

describe('a wallet with stake', () => {
  test('makes a key of its account, with the settings that it wants', async () => {
    const payer = createPayer()
    await app.base.fund(payer.address, parseEther('1'), STAKING_ADDRESS)
    const wallet = asWallet(fromViem(payer))
    const { data, response } = await wallet.wallet
      .createApiKey({ apiKeyType: 'ADMIN', description: 'agent', consumptionLimit: { usd: 2 } })
      .withResponse()
    expect(data).toMatchObject({ apiKeyType: 'ADMIN', description: 'agent', consumptionLimit: { usd: 2 } })
    expect(response.status).toBe(200)
    const keyed = createClient({ baseUrl: app.server.url, apiKey: data.apiKey })
    expect((await keyed.account.retrieve()).accountId).toBe((await wallet.account.retrieve()).accountId)
  })

  test('gets an error that names what is missing', async () => {
    const error = await errorOf(asWallet(fromViem(createPayer())).wallet.createApiKey({ apiKeyType: 'INFERENCE' }))
    expect(error).toBeInstanceOf(ValidationError)
    expect(error).toMatchObject({ fields: [{ path: 'address' }] })
  })
})

describe('signing out', () => {
  test('ends the session; the next call and running subscriptions continue with another', async () => {
    const wallet = fromViem(createPayer())
    const proofs: string[] = []
    const signMessage = (message: string) => {
      proofs.push(message)
      return wallet.signMessage(message)
    }
    const sluice = asWallet({ ...wallet, signMessage })
    await sluice.wallet.signOut()
    expect(proofs).toHaveLength(0)
    await sluice.account.retrieve()
    const changes = sluice.balanceChanges()
    await changes.next()
    expect(proofs).toHaveLength(1)
    await sluice.wallet.signOut()
    expect(await revokedSessions()).toHaveLength(1)
    expect((await changes.next()).value).toMatchObject({ balances: [] })
    await sluice.account.retrieve()
    expect(proofs).toHaveLength(2)
    await changes.return?.()
  })

  test('may be repeated if the service missed it', async () => {
    await using proxy = await startFlakyProxy(app.server.url)
    const sluice = createClient({ baseUrl: proxy.url, publicUrl, wallet: fromViem(createPayer()), maxRetries: 0 })
    await sluice.account.retrieve()
    const before = await revokedSessions()
    proxy.fail({ kind: 'status', status: 503, body: {} })
    expect(await errorOf(sluice.wallet.signOut())).toBeInstanceOf(ServerError)
    await sluice.wallet.signOut()
    expect(await revokedSessions()).toHaveLength(before.length + 1)
  })

  test('leaves a key unchanged', async () => {
    const { sluice } = await createOwner()
    await sluice.wallet.signOut()
    expect(await sluice.account.retrieve()).toMatchObject({ kind: 'USER' })
  })
})

test('a challenge of the service is signed as other clients sign it', async () => {
  const signer = naclSigner()
  const { sluice } = await createOwner()
  const message = await sluice.account.walletLinkChallenge()
  const signed = await signChallenge(solanaWallet(signer), message)
  const read = (header: string): unknown => JSON.parse(Buffer.from(header, 'base64').toString())
  expect(read(signed)).toEqual(read(await fieldHeader(signer, { fields: { ...message, chain: 'solana' } })))
})
