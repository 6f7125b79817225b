import { Connection, Keypair, LAMPORTS_PER_SOL, PublicKey, SystemProgram, Transaction } from '@solana/web3.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SolanaApp, startSolanaApp } from '../support/solana-app.ts'

let app: SolanaApp
beforeAll(async () => {
  app = await startSolanaApp()
})
afterAll(() => app[Symbol.asyncDispose]())

/** As docs/rpc.md tells: the key in a header; statuses are polled, since there is no WebSocket. */
const connect = () => new Connection(app.url, { commitment: 'confirmed', httpHeaders: app.headers })

const SIGNATURE = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'

test('an airdrop and a transfer, with their statuses polled for', async () => {
  const connection = connect()
  const [payer, receiver] = [Keypair.generate(), Keypair.generate().publicKey]
  await connection.requestAirdrop(payer.publicKey, 3 * LAMPORTS_PER_SOL)
  const transfer = SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: receiver, lamports: 1_000_000_007 })
  const signature = await connection.sendTransaction(new Transaction().add(transfer), [payer])
  await expect
    .poll(async () => (await connection.getSignatureStatus(signature)).value?.confirmationStatus)
    .toBe('finalized')
  expect(await connection.getBalance(receiver)).toBe(1_000_000_007)
  expect((await connection.getAccountInfo(receiver))?.owner).toEqual(SystemProgram.programId)
})

test('accounts of a program and several accounts at once are read', async () => {
  const connection = connect()
  const funded = Keypair.generate().publicKey
  await connection.requestAirdrop(funded, LAMPORTS_PER_SOL)
  const accounts = await connection.getMultipleAccountsInfo([funded, Keypair.generate().publicKey])
  expect(accounts.map((account) => account?.lamports)).toEqual([LAMPORTS_PER_SOL, undefined])
  const owned = await connection.getProgramAccounts(new PublicKey(SystemProgram.programId))
  expect(owned.map(({ pubkey }) => pubkey.toBase58())).toContain(funded.toBase58())
})

test('a batch of 100 is one request of 3,000 credits; one of 101 is rejected and costs nothing', async () => {
  const connection = connect()
  const before = await app.credits()
  const options = { maxSupportedTransactionVersion: 0 } as const
  const read = (count: number) => connection.getTransactions(Array(count).fill(SIGNATURE), options)
  expect(await read(100)).toEqual(Array(100).fill(null))
  expect((await app.credits()) - before).toBe(3_000)
  await expect(read(101)).rejects.toThrow(/more than 100 items/)
  expect((await app.credits()) - before).toBe(3_000)
})
