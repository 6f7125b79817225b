import { type AnvilNode, startAnvil } from './anvil.ts'
import { startTestApp, type TestAccount, type TestApp } from './app.ts'

/** An account that every anvil node funds with 10,000 ETH. */
export const RICH_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'

/** Creates a contract that logs an event without topics at each call. */
export const LOGGER_BYTECODE = '0x6560006000a0006000526006601af3'

export interface AnvilApp extends AsyncDisposable {
  server: TestApp
  anvil: AnvilNode
  account: TestAccount
  /** Node URL as a dapp would configure it. */
  url: string
  /** Credits charged to the account so far. */
  credits: () => Promise<number>
}

/** The composed application before a real EVM node that plays Ethereum mainnet. */
export async function startAnvilApp(): Promise<AnvilApp> {
  const anvil = await startAnvil({ chainId: 1 })
  const server = await startTestApp({
    file: { rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: anvil.url }] } } } },
  })
  const account = await server.createAccount()
  const granted = await server.balanceNanoUsd(account.accountId)
  return {
    server,
    anvil,
    account,
    url: `${server.baseUrl}/crypto/rpc/ethereum-mainnet`,
    credits: async () => Number((granted - (await server.balanceNanoUsd(account.accountId))) / 625n),
    async [Symbol.asyncDispose]() {
      await server.assertLedgerClean()
      await server.close()
      await anvil.close()
    },
  }
}
