import { encodeFunctionData, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { serializeErc6492Signature } from 'viem/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createContractWalletVerifier } from '../../../server/upstream/wallets/contract-wallet-verifier.ts'
import {
  type BaseChain,
  startBaseChain,
  WALLET_FACTORY_ABI,
  WALLET_FACTORY_ADDRESS,
  WALLET_SALT,
} from '../../support/base-chain.ts'
import { startNodeProxy } from '../../support/node-proxy.ts'
import { CLIENT_ADDRESS, createSignInHarness } from '../../support/sign-in-harness.ts'
import { fieldHeader, textHeader, viemSigner, type WalletSigner } from '../../support/wallet-signers.ts'

let chain: BaseChain
beforeAll(async () => {
  chain = await startBaseChain()
})
afterAll(() => chain.close())

const start = (rpcUrl = chain.url) => createSignInHarness({ contractWallets: createContractWalletVerifier(rpcUrl) })
const owner = privateKeyToAccount(generatePrivateKey())

/** A contract wallet that is deployed (EIP-1271). */
async function deployedWallet(): Promise<WalletSigner> {
  const address = await chain.deployWallet(owner.address)
  return { chain: 'evm', address, sign: (message) => owner.signMessage({ message }) }
}

/** One that is not yet: its signature says how it would be (ERC-6492). */
async function futureWallet(): Promise<WalletSigner> {
  const { address: ownerAddress, signMessage } = privateKeyToAccount(generatePrivateKey())
  const args = [ownerAddress, WALLET_SALT] as const
  const factory = { address: WALLET_FACTORY_ADDRESS, abi: WALLET_FACTORY_ABI } as const
  const address = await chain.client.readContract({ ...factory, functionName: 'walletOf', args })
  const data = encodeFunctionData({ abi: WALLET_FACTORY_ABI, functionName: 'createWallet', args })
  const wrap = (signature: Hex) => serializeErc6492Signature({ address: WALLET_FACTORY_ADDRESS, data, signature })
  return { chain: 'evm', address, sign: async (message) => wrap(await signMessage({ message })) }
}

test.each([
  ['deployed', deployedWallet],
  ['not deployed yet', futureWallet],
])('a contract wallet that is %s signs in by either form', async (_name, create) => {
  const harness = start()
  const signer = await create()
  for (const header of [fieldHeader, textHeader]) {
    const payload = await header(signer, { now: harness.clock.now() })
    const caller = await harness.signIn.signIn(payload, CLIENT_ADDRESS)
    expect(caller.walletAddress).toBe(signer.address.toLowerCase())
  }
})

test.each([
  ['deployed', deployedWallet],
  ['not deployed yet', futureWallet],
])('nobody else signs for a contract wallet that is %s', async (_name, create) => {
  const harness = start()
  const signer = { ...(await create()), sign: viemSigner().sign }
  const payload = await fieldHeader(signer, { now: harness.clock.now() })
  const refused = { publicCode: 'X402_SIGN_IN_INVALID_SIGNATURE' }
  await expect(harness.signIn.signIn(payload, CLIENT_ADDRESS)).rejects.toMatchObject(refused)
})

test('a node that is away lets no contract wallet in, while keys sign in as before', async () => {
  const harness = start('http://127.0.0.1:9')
  const now = harness.clock.now()
  const payload = await fieldHeader(await deployedWallet(), { now })
  await expect(harness.signIn.signIn(payload, CLIENT_ADDRESS)).rejects.toMatchObject({ code: 'unavailable' })
  await expect(harness.signIn.signIn(await fieldHeader(viemSigner(), { now }), CLIENT_ADDRESS)).resolves.toBeDefined()
})

test('a node of another chain signs no contract wallet in, because the address there may have another owner', async () => {
  await using proxy = await startNodeProxy(chain.url)
  proxy.alter = (method, result) => (method === 'eth_chainId' ? '0x1' : result)
  const harness = start(proxy.url)
  const payload = await fieldHeader(await deployedWallet(), { now: harness.clock.now() })
  await expect(harness.signIn.signIn(payload, CLIENT_ADDRESS)).rejects.toMatchObject({ code: 'unavailable' })
})

test('contract wallets cannot sign in without a node', async () => {
  const harness = createSignInHarness()
  const payload = await fieldHeader(await deployedWallet(), { now: harness.clock.now() })
  const refused = { publicCode: 'X402_SIGN_IN_INVALID_SIGNATURE' }
  await expect(harness.signIn.signIn(payload, CLIENT_ADDRESS)).rejects.toMatchObject(refused)
})
