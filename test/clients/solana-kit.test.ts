import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstruction,
  createDefaultRpcTransport,
  createSolanaRpcFromTransport,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SolanaApp, startSolanaApp } from '../support/solana-app.ts'

const SYSTEM_PROGRAM = address('11111111111111111111111111111111')

let app: SolanaApp
beforeAll(async () => {
  app = await startSolanaApp()
})
afterAll(() => app[Symbol.asyncDispose]())

/** As docs/rpc.md tells: the key in a header of the transport. */
const connect = () => createSolanaRpcFromTransport(createDefaultRpcTransport({ url: app.url, headers: app.headers }))

async function signTransfer(payer: KeyPairSigner, to: Address, amount: bigint) {
  const data = new Uint8Array(12)
  new DataView(data.buffer).setUint32(0, 2, true)
  new DataView(data.buffer).setBigUint64(4, amount, true)
  const { value: blockhash } = await connect().getLatestBlockhash().send()
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayerSigner(payer, draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(blockhash, draft),
    (draft) =>
      appendTransactionMessageInstruction(
        {
          programAddress: SYSTEM_PROGRAM,
          accounts: [
            { address: payer.address, role: AccountRole.WRITABLE_SIGNER },
            { address: to, role: AccountRole.WRITABLE },
          ],
          data,
        },
        draft,
      ),
  )
  return signTransactionMessageWithSigners(message)
}

test('an airdrop, a simulated and a sent transfer, and its status polled for', async () => {
  const rpc = connect()
  const [payer, receiver] = [await generateKeyPairSigner(), await generateKeyPairSigner()]
  await rpc.requestAirdrop(payer.address, lamports(2_000_000_000n)).send()
  const signed = await signTransfer(payer, receiver.address, 1_000_000_001n)
  const wire = getBase64EncodedWireTransaction(signed)
  const simulated = await rpc.simulateTransaction(wire, { encoding: 'base64' }).send()
  expect(simulated.value.logs).toContain('Program 11111111111111111111111111111111 success')
  const signature = await rpc.sendTransaction(wire, { encoding: 'base64' }).send()
  expect(signature).toBe(getSignatureFromTransaction(signed))
  await expect
    .poll(async () => (await rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus)
    .toBe('finalized')
  expect((await rpc.getBalance(receiver.address).send()).value).toBe(1_000_000_001n)
})

test('integers beyond 2^53 arrive exactly, as they do from the node itself', async () => {
  const rich = await generateKeyPairSigner()
  app.node.svm.setAccount({
    address: rich.address,
    lamports: lamports(9_007_199_254_740_993n),
    data: new Uint8Array(),
    executable: false,
    programAddress: SYSTEM_PROGRAM,
    space: 0n,
  })
  const { value } = await connect().getAccountInfo(rich.address, { encoding: 'base64' }).send()
  expect(value).toMatchObject({ lamports: 9_007_199_254_740_993n, rentEpoch: 18_446_744_073_709_551_615n })
})

test('a call costs 30 credits, a rejected transaction 5', async () => {
  const before = await app.credits()
  await connect().getSlot().send()
  expect((await app.credits()) - before).toBe(30)
  const poor = await generateKeyPairSigner()
  const signed = await signTransfer(poor, (await generateKeyPairSigner()).address, 1n)
  const sending = connect().sendTransaction(getBase64EncodedWireTransaction(signed), { encoding: 'base64' }).send()
  await expect(sending).rejects.toThrow()
  expect((await app.credits()) - before).toBe(30 + 30 + 5)
})
