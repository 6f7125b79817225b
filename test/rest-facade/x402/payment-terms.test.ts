import { expect, test } from 'vitest'
import type { Route } from '../../../rest-facade/route.ts'
import type { WalletCaller } from '../../../server/domain/caller.ts'
import { DomainError } from '../../../server/domain/errors.ts'
import { startRestHarness } from '../../support/rest-harness.ts'

const BASE = { scheme: 'exact', network: 'eip155:8453', payTo: '0xbase', asset: '0xusdc' }
const SOLANA = {
  scheme: 'exact',
  network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  payTo: 'SoLpay',
  asset: 'SoLusdc',
}

const route: Route = {
  method: 'get',
  path: '/paid',
  access: 'inference',
  limits: { counted: 'by_service', plan: () => undefined },
  output: {},
  errors: [],
  summary: 'Always short of money',
  handler: () => Promise.reject(new DomainError('insufficient_balance', 'too little')),
}

test.each([
  ['solana', SOLANA],
  ['evm', BASE],
] as const)('the 402 of a wallet on %s names the terms of its own chain', async (walletChain, terms) => {
  const caller: WalletCaller = {
    kind: 'wallet',
    accountId: 'a',
    keyId: null,
    tier: 'standard',
    modelPrivacy: 'ALL',
    walletChain,
    walletAddress: 'w',
  }
  const window = { limit: 1, remaining: 1, resetAtMs: 0 }
  const services = {
    wallets: {
      signIn: { signIn: async () => caller },
      challenges: { create: () => ({ info: { uri: 'http://localhost/paid' } }) },
      statements: { minimumNanoUsd: 0n },
    },
    payments: { options: { available: true, forRequests: async () => [BASE, SOLANA] } },
    limits: {
      ratePlans: { planForManagement: () => ({ scope: 'global' }) },
      rateLimits: { peek: async () => ({ requests: window, tokens: null, credits: null }) },
    },
    money: { ledger: { balances: async () => [] } },
  }
  await using harness = await startRestHarness([route], { caller, ...(services as object) })
  const response = await fetch(`${harness.baseUrl}/paid`, { headers: { 'sign-in-with-x': 'signed' } })
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 402,
    body: {
      supportedChains: ['base', 'solana'],
      topUpInstructions: { receiverWallet: terms.payTo, tokenAddress: terms.asset, network: terms.network },
    },
  })
})
