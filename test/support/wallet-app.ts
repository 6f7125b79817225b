import { openWalletAccount } from '../../server/domain/wallets/wallet-account-repository.ts'
import { parseWalletAddress } from '../../server/domain/wallets/wallet-address.ts'
import { startTestApp, type TestApp, type TestAppOptions } from './app.ts'
import { fieldHeader, type SignInOptions, viemSigner, type WalletSigner } from './wallet-signers.ts'

/** Of nobody: its only use is a configuration that takes payments. */
const FACILITATOR_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
export const PAY_TO = '0x00000000000000000000000000000000000C0ffe'

export interface WalletApp extends TestApp {
  /** A request as the wallet, signed afresh. */
  call: (signer: WalletSigner, path: string, options?: CallOptions) => Promise<Response>
  /** A wallet whose account has that much. */
  createWallet: (balanceNanoUsd: bigint, signer?: WalletSigner) => Promise<{ signer: WalletSigner; accountId: string }>
}

export interface CallOptions {
  body?: unknown
  headers?: Record<string, string>
  signIn?: SignInOptions
}

/** The real application, which takes payments on Base; its node does not answer unless one is named. */
export async function startWalletApp({ file, ...options }: TestAppOptions = {}): Promise<WalletApp> {
  const base = {
    payTo: PAY_TO,
    rpcUrl: 'http://127.0.0.1:9',
    facilitator: { kind: 'local', privateKey: FACILITATOR_KEY },
  }
  const app = await startTestApp({ ...options, file: { x402: { base }, ...file } })
  return {
    ...app,
    async call(signer, path, { body, headers, signIn } = {}) {
      return fetch(`${app.baseUrl}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          'content-type': 'application/json',
          'sign-in-with-x': await fieldHeader(signer, signIn),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    },
    async createWallet(balanceNanoUsd, signer = viemSigner()) {
      const wallet = parseWalletAddress(signer.address)
      if (wallet === undefined) throw new Error('a signer has an address')
      const accountId = await openWalletAccount(app.database.db, wallet, new Date())
      const { ledger } = app.app.services.money
      await ledger.grant({ accountId, amountNanoUsd: balanceNanoUsd, reason: 'test' })
      return { signer, accountId }
    },
  }
}
