import { serializeErc8010Signature } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createContractWalletVerifier } from '../../../server/upstream/wallets/contract-wallet-verifier.ts'
import { STAKING_ADDRESS } from '../../support/base-chain.ts'
import { baseRequirement, createPayer, signAuthorization } from '../../support/base-payments.ts'
import { delegate, type Listener, placeLookupContract, startListener } from '../../support/hostile-contracts.ts'
import { startNodeProxy } from '../../support/node-proxy.ts'
import { paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'
import { fieldHeader, type WalletSigner } from '../../support/wallet-signers.ts'

const BASE_CHAIN_ID = 8_453

let app: PaymentsApp
let listener: Listener
beforeAll(async () => {
  app = await startPaymentsApp({ solana: null, file: { staking: { contract: STAKING_ADDRESS } } })
  listener = await startListener()
})
afterAll(async () => {
  await app.close()
  await listener[Symbol.asyncDispose]()
})

/** An account that delegates to a contract of lookups (EIP-7702) and says so in its signatures (ERC-8010). */
async function delegatedSigner(): Promise<WalletSigner> {
  const account = privateKeyToAccount(generatePrivateKey())
  const contract = createPayer().address
  await placeLookupContract(app.base, contract, listener.url, account.address)
  await delegate(app.base, account.address, contract)
  const authorization = await account.signAuthorization({ address: contract, chainId: BASE_CHAIN_ID, nonce: 0 })
  return {
    chain: 'evm',
    address: account.address,
    sign: async () => serializeErc8010Signature({ authorization, signature: `0x${'11'.repeat(65)}` }),
  }
}

test('a payment from a contract that asks for an off-chain lookup is rejected without one', async () => {
  const payer = createPayer()
  await placeLookupContract(app.base, payer.address, listener.url)
  const payload = { ...(await signAuthorization(payer)), signature: `0x${'11'.repeat(65)}` as const }
  const response = await app.topUp(paymentHeader(baseRequirement(), payload))
  expect([response.status, listener.connections]).toEqual([400, 0])
})

test('a sign-in through EIP-7702 and ERC-8010 makes no off-chain lookup', async () => {
  const signer = await delegatedSigner()
  const headers = { 'sign-in-with-x': await fieldHeader(signer) }
  const response = await fetch(`${app.server.baseUrl}/x402/balance/${signer.address}`, { headers })
  expect([response.status, listener.connections]).toEqual([401, 0])
})

test('generate_web3_key makes no off-chain lookup', async () => {
  const signer = await delegatedSigner()
  const url = `${app.server.baseUrl}/api_keys/generate_web3_key`
  const { data } = (await (await fetch(url)).json()) as { data: { token: string } }
  const signature = await signer.sign(data.token)
  const body = { address: signer.address, token: data.token, signature, apiKeyType: 'INFERENCE' }
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  expect([response.status, listener.connections]).toEqual([400, 0])
})

test('an honest contract wallet is checked while the checks of 64 hostile ones hang', async () => {
  const owner = privateKeyToAccount(generatePrivateKey())
  const address = await app.base.deployWallet(owner.address)
  await using node = await startNodeProxy(app.base.url)
  let hanging = 0
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  node.onStage = (stage, method, body = '') => {
    if (stage !== 'asked' || method !== 'eth_call' || body.includes(address.slice(2).toLowerCase())) return
    hanging++
    return ended
  }
  const verifier = createContractWalletVerifier(node.url)
  const sign = async (wallet: string, text: string, clientAddress: string) =>
    verifier.isValid({ address: wallet, text, signature: await owner.signMessage({ message: text }), clientAddress })
  const hostile = Array.from({ length: 64 }, (_, index) =>
    sign(createPayer().address, 'hostile', `192.0.2.${index % 4}`).catch(() => undefined),
  )
  await expect.poll(() => hanging).toBeGreaterThanOrEqual(32)
  expect(await sign(address, 'honest', '198.51.100.1')).toBe(true)
  end()
  await Promise.all(hostile)
})
