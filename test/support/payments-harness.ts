import { startTestApp, type TestApp, type TestAppOptions } from './app.ts'
import { type BaseChain, FACILITATOR_KEY, MERCHANT_ADDRESS, startBaseChain } from './base-chain.ts'
import { SOLANA_FACILITATOR_KEY, SOLANA_MERCHANT_ADDRESS, type SolanaChain, startSolanaChain } from './solana-chain.ts'

/** Test chains have higher fees than Base, which tests let rise, and mine a block only for a transaction. */
export const TEST_BASE = { maxFeePerGasGwei: 10_000, dailyFeeEth: 1_000, confirmations: 1 }

type Facilitator = { kind: 'local'; privateKey: string } | { kind: 'remote'; url: string }

export interface PaymentsAppOptions extends TestAppOptions {
  /** What the chain's section has beside the test's own values; null leaves the chain out. */
  base?: { facilitator?: Facilitator; [setting: string]: unknown } | null
  solana?: { facilitator?: Facilitator; [setting: string]: unknown } | null
  /** What the `x402` section has beside its chains. */
  x402?: Record<string, unknown>
  /** Chains that stand already; they stay the caller's to close. */
  chains?: Pick<PaymentsApp, 'base' | 'solana'>
}

export interface PaymentsApp extends AsyncDisposable {
  server: TestApp
  base: BaseChain
  solana: SolanaChain
  topUp: (headers?: Record<string, string>) => Promise<Response>
  close: () => Promise<void>
}

/** The `x402` section of a configuration whose chains are those of the test. */
export function paymentsSection(chains: Pick<PaymentsApp, 'base' | 'solana'>, options: PaymentsAppOptions = {}) {
  const local = (privateKey: string): Facilitator => ({ kind: 'local', privateKey })
  const base = {
    payTo: MERCHANT_ADDRESS,
    rpcUrl: chains.base.url,
    facilitator: local(FACILITATOR_KEY),
    ...TEST_BASE,
  }
  const solana = {
    payTo: SOLANA_MERCHANT_ADDRESS,
    rpcUrl: chains.solana.url,
    facilitator: local(SOLANA_FACILITATOR_KEY),
  }
  return {
    ...(options.base === null ? {} : { base: { ...base, ...options.base } }),
    ...(options.solana === null ? {} : { solana: { ...solana, ...options.solana } }),
    ...options.x402,
  }
}

/** The composed application that takes payments on a node that plays Base and on one that plays Solana. */
export async function startPaymentsApp(options: PaymentsAppOptions = {}): Promise<PaymentsApp> {
  const chains = options.chains ?? { base: await startBaseChain(), solana: await startSolanaChain() }
  const server = await startTestApp({ ...options, file: { ...options.file, x402: paymentsSection(chains, options) } })
  const close = async (): Promise<void> => {
    await server.close()
    if (options.chains !== undefined) return
    await chains.base.close()
    await chains.solana.close()
  }
  return {
    server,
    ...chains,
    topUp: (headers = {}) => fetch(`${server.baseUrl}/x402/top-up`, { method: 'POST', headers }),
    close,
    [Symbol.asyncDispose]: close,
  }
}
