import { base58 } from '@scure/base'
import { Signature } from 'ethers'
import { type Hex, parseSignature, serializeCompactSignature, signatureToCompactSignature } from 'viem'
import { expect, test } from 'vitest'
import { createSignInHarness, signInOutcome } from '../../../support/sign-in-harness.ts'
import {
  ethersSigner,
  fieldHeader,
  naclSigner,
  signInFields,
  viemSigner,
  type WalletSigner,
} from '../../../support/wallet-signers.ts'

const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const ED25519_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

/** The same wallet, whose signatures are written otherwise. */
const rewritten = (signer: WalletSigner, rewrite: (signature: string) => string): WalletSigner => ({
  ...signer,
  sign: async (text) => rewrite(await signer.sign(text)),
})

const compactByViem = (signature: string) =>
  serializeCompactSignature(signatureToCompactSignature(parseSignature(signature as Hex)))
const compactByEthers = (signature: string) => Signature.from(signature).compactSerialized
const withBareRecoveryBit = (signature: string) => `${signature.slice(0, -2)}0${Signature.from(signature).yParity}`
/** Every signature on this curve has a twin that anybody can reckon. */
const twinOnSecp256k1 = (signature: string) => {
  const { r, s, yParity } = Signature.from(signature)
  const twin = (SECP256K1_ORDER - BigInt(s)).toString(16).padStart(64, '0')
  return `${r}${twin}${yParity === 0 ? '1c' : '1b'}`
}
const inBase64 = (signature: string) => Buffer.from(base58.decode(signature)).toString('base64')
/** RFC 8032 has one s below the order; libraries that do not look take a second one. */
const twinOnEd25519 = (signature: string) => {
  const bytes = base58.decode(signature)
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString('hex')}`) + ED25519_ORDER
  return base58.encode(Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16), 'hex').toReversed()]))
}

test.each([
  ['compact by viem (EIP-2098)', viemSigner, compactByViem],
  ['compact by ethers (EIP-2098)', ethersSigner, compactByEthers],
  ['with a recovery bit of 0 or 1', viemSigner, withBareRecoveryBit],
  ['in capitals', viemSigner, (signature: string) => `0x${signature.slice(2).toUpperCase()}`],
  ['in Base64', naclSigner, inBase64],
])('a signature %s signs in, once together with the usual form', async (_name, create, rewrite) => {
  const harness = createSignInHarness()
  const signer = create()
  const fields = signInFields(signer, { now: harness.clock.now() })
  expect(await signInOutcome(harness, await fieldHeader(rewritten(signer, rewrite), { fields }))).toBe('ok')
  expect(await signInOutcome(harness, await fieldHeader(signer, { fields }))).toBe('NONCE_REUSED')
})

test.each([
  ['the twin of a signature on secp256k1', viemSigner, twinOnSecp256k1],
  ['the second s of Ed25519', naclSigner, twinOnEd25519],
  ['a compact signature of another wallet', viemSigner, (_own: string, other: string) => compactByViem(other)],
  ['63 bytes', viemSigner, (own: string) => compactByViem(own).slice(0, -2)],
  ['66 bytes', viemSigner, (own: string) => `${own}00`],
])('%s is rejected', async (_name, create, rewrite) => {
  const harness = createSignInHarness()
  const [signer, stranger] = [create(), create()]
  const sign = async (text: string) => rewrite(await signer.sign(text), await stranger.sign(text))
  const header = await fieldHeader({ ...signer, sign }, { now: harness.clock.now() })
  expect(await signInOutcome(harness, header)).toBe('INVALID_SIGNATURE')
})

test('a contract wallet may sign at length, as passkeys of wallets that are not deployed yet do', async () => {
  const contractWallets = { isValid: async ({ signature }: { signature: string }) => signature.length === 3_202 }
  const harness = createSignInHarness({ contractWallets })
  const signer = { ...viemSigner(), sign: async () => `0x${'ab'.repeat(1_600)}` }
  expect(await signInOutcome(harness, await fieldHeader(signer, { now: harness.clock.now() }))).toBe('ok')
})
