import { startTestApp, type TestAccount, type TestApp } from './app.ts'
import { type SolanaNode, startSolanaNode } from './solana-node.ts'

export interface SolanaApp extends AsyncDisposable {
  server: TestApp
  node: SolanaNode
  account: TestAccount
  url: string
  headers: { authorization: string }
  /** Credits charged to the account so far. */
  credits: () => Promise<number>
}

/** The composed application before a Solana runtime that plays devnet. */
export async function startSolanaApp(): Promise<SolanaApp> {
  const node = await startSolanaNode()
  const server = await startTestApp({
    file: { rpc: { networks: { 'solana-devnet': { upstreams: [{ url: node.url }] } } } },
  })
  const account = await server.createAccount()
  const granted = await server.balanceNanoUsd(account.accountId)
  return {
    server,
    node,
    account,
    url: `${server.baseUrl}/crypto/rpc/solana-devnet`,
    headers: { authorization: `Bearer ${account.adminKey}` },
    credits: async () => Number((granted - (await server.balanceNanoUsd(account.accountId))) / 625n),
    async [Symbol.asyncDispose]() {
      await server.assertLedgerClean()
      await server.close()
      await node.close()
    },
  }
}
