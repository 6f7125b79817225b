import { expect, test } from 'vitest'
import { STAKING_ADDRESS } from '../../support/base-chain.ts'
import { createFakeClock } from '../../support/fake-clock.ts'
import { GraphqlSocket } from '../../support/graphql-socket.ts'
import { startStakingChain } from '../../support/staking-chain.ts'
import { startWalletApp } from '../../support/wallet-app.ts'
import { viemSigner } from '../../support/wallet-signers.ts'

const CHAT = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 }

test('a wallet with nothing but stake signs in, gets its DIEM by itself, and calls with it', async () => {
  await using chain = await startStakingChain('2026-03-01T20:00:00Z')
  const signer = viemSigner()
  await chain.stake(signer.address, 3_000)
  await chain.mineAt('2026-03-01T23:00:00Z')
  await chain.mineAt('2026-03-02T00:00:01Z')
  const clock = createFakeClock('2026-03-02T08:00:00.000Z')
  const staking = { contract: STAKING_ADDRESS, rpcUrl: chain.base.url }
  await using app = await startWalletApp({ file: { staking }, overrides: { clock } })
  const { accounts: walletAccounts, sessions: walletSessions } = app.app.services.wallets
  const wallet = { chain: 'evm' as const, address: signer.address.toLowerCase() }

  const { sessionToken } = await walletSessions.issue(await walletAccounts.callerOf(wallet))
  const socket = await GraphqlSocket.open(`${app.url.replace('http', 'ws')}/graphql`, sessionToken)
  socket.subscribe('1', 'subscription { balanceChanged { balances { currency balance } } }')
  const balances: unknown[] = []
  // The first event may precede the reading of the chain; nothing but that changes this account.
  while (!JSON.stringify(balances).includes('DIEM')) balances.push((await socket.next()).payload)
  expect(balances.at(-1)).toMatchObject({
    data: { balanceChanged: { balances: expect.arrayContaining([{ currency: 'DIEM', balance: '3' }]) } },
  })
  await socket.close()

  const chat = await app.call(signer, '/chat/completions', { body: CHAT, signIn: { now: clock.now() } })
  expect([chat.status, chat.headers.get('x-service-balance-diem')]).toEqual([200, '3'])
  const path = `/x402/balance/${signer.address}`
  const { data } = await (await app.call(signer, path, { signIn: { now: clock.now() } })).json()
  expect(data).toMatchObject({ balanceUsd: 0, canConsume: true })
  expect(data.diemBalanceUsd).toBeLessThan(3)
  await app.assertLedgerClean()
})
