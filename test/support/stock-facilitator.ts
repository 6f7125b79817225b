import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit'
import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { registerExactSvmScheme } from '@x402/svm/exact/facilitator'
import { createWalletClient, http, publicActions, type VerifyTypedDataParameters } from 'viem'
import { nonceManager, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { BASE_NETWORK, type BaseChain, FACILITATOR_KEY, WALLET_FACTORY_ADDRESS } from './base-chain.ts'
import { SOLANA_FACILITATOR_KEY, SOLANA_NETWORK, type SolanaChain } from './solana-chain.ts'

/** What the server does with a payment that it is asked to settle. */
export type SettleConduct =
  | 'honest'
  /** Sends nothing and answers `success: true`. */
  | 'lies-success'
  /** Settles and answers that it failed. */
  | 'lies-failure'
  /** Settles and never answers: the connection breaks. */
  | 'breaks-off'

export interface StockFacilitator extends AsyncDisposable {
  url: string
  conduct: SettleConduct
  /** The transaction that a lie names. */
  lie: string
  settlements: number
  /** How often it was asked what it supports. */
  questions: number
  close: () => Promise<void>
}

interface Chains {
  base: BaseChain
  solana: SolanaChain
}

interface Asked {
  paymentPayload: PaymentPayload
  paymentRequirements: PaymentRequirements
}

/** The facilitator of the x402 packages on the test's chains, in this process. */
export async function createStockFacilitator({ base: evm, solana }: Partial<Chains>): Promise<x402Facilitator> {
  const facilitator = new x402Facilitator()
  if (evm !== undefined) registerExactEvmScheme(facilitator, evmScheme(evm.url))
  if (solana !== undefined) {
    const keys = await createKeyPairSignerFromBytes(getBase58Encoder().encode(SOLANA_FACILITATOR_KEY))
    const signer = toFacilitatorSvmSigner(keys, { defaultRpcUrl: solana.url })
    registerExactSvmScheme(facilitator, { signer, networks: SOLANA_NETWORK })
  }
  return facilitator
}

function evmScheme(url: string): Parameters<typeof registerExactEvmScheme>[1] {
  const account = privateKeyToAccount(FACILITATOR_KEY, { nonceManager })
  const wallet = createWalletClient({ account, chain: base, transport: http(url), pollingInterval: 20 })
  const client = wallet.extend(publicActions)
  const signer = toFacilitatorEvmSigner({
    ...client,
    address: account.address,
    verifyTypedData: (data) => client.verifyTypedData(data as VerifyTypedDataParameters),
  })
  return { signer, networks: BASE_NETWORK, eip6492AllowedFactories: [WALLET_FACTORY_ADDRESS] }
}

/** That facilitator as a service, which can also misbehave. */
export async function startStockFacilitator(chains: Partial<Chains>): Promise<StockFacilitator> {
  const facilitator = await createStockFacilitator(chains)
  const answer = async (path: string, request: IncomingMessage): Promise<object | undefined> => {
    if (path === '/supported') {
      state.questions++
      return facilitator.getSupported()
    }
    const { paymentPayload, paymentRequirements } = JSON.parse(await text(request)) as Asked
    if (path === '/verify') return facilitator.verify(paymentPayload, paymentRequirements)
    state.settlements++
    const { network } = paymentRequirements
    if (state.conduct === 'lies-success') return { success: true, transaction: state.lie, network }
    const settled: SettleResponse = await facilitator.settle(paymentPayload, paymentRequirements)
    if (state.conduct === 'lies-failure') return { success: false, errorReason: 'unexpected', transaction: '', network }
    return state.conduct === 'breaks-off' ? undefined : settled
  }
  const server = createServer(async (request, response) => {
    const body = await answer(request.url ?? '', request).catch((error: unknown) => ({ error: String(error) }))
    if (body === undefined) return response.destroy()
    response.statusCode = 'error' in body ? 500 : 200
    return response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const state: StockFacilitator = {
    url,
    conduct: 'honest',
    lie: '',
    settlements: 0,
    questions: 0,
    close,
    [Symbol.asyncDispose]: close,
  }
  return state
}
