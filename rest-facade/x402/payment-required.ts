import type { WalletCaller } from '../../server/domain/caller.ts'
import type { DomainError } from '../../server/domain/errors.ts'
import { toUsdNumber } from '../../server/domain/money.ts'
import type { PaymentRequirement } from '../../server/domain/payments/payment-network.ts'
import { TOP_UP_MIN_ATOMIC, TOP_UP_SUGGESTED_ATOMIC } from '../../server/domain/payments/payment-options.ts'
import type { Services } from '../../server/domain/services.ts'
import type { SignInChallenge } from '../../server/domain/wallets/sign-in/sign-in-challenge.ts'
import type { Exchange } from '../exchange.ts'
import type { Route } from '../route.ts'
import { SIGN_IN_SCHEMA } from './sign-in-schema.ts'
import { atomicToUsdNumber } from './usd.ts'

const USDC_DECIMALS = 6
const NAME_OF_FAMILY: Record<string, string> = { eip155: 'base', solana: 'solana' }
const FAMILY_OF_CHAIN: Record<WalletCaller['walletChain'], string> = { evm: 'eip155', solana: 'solana' }

/** x402's PaymentRequired, which the header `PAYMENT-REQUIRED` carries in Base64. */
interface PaymentRequired {
  x402Version: 2
  error: string
  resource: { url: string; description: string; mimeType: string }
  accepts: PaymentRequirement[]
  extensions: Record<string, unknown>
}

/**
 * The 402 response to an error that paying resolves: nobody signed in, or the wallet's balance is too low. Sets its
 * headers and returns its body; undefined for any other error, and if payments are not accepted.
 */
export async function answerPaymentRequired(
  exchange: Exchange,
  error: DomainError,
  route: Route,
): Promise<object | undefined> {
  const { services, caller, target } = exchange
  const shortWallet = error.code === 'insufficient_balance' && caller?.kind === 'wallet' ? caller : undefined
  const isShort = shortWallet !== undefined
  if (!services.payments.options.available || !(isShort || error.code === 'sign_in_required')) return undefined
  const challenge = services.wallets.challenges.create(target.path)
  const accepts = await services.payments.options.forRequests()
  const required: PaymentRequired = {
    x402Version: 2,
    error: isShort ? 'Payment required' : error.message,
    resource: { url: challenge.info.uri, description: route.summary, mimeType: 'application/json' },
    // Paying does not help there: a wallet reads its own account by signing in.
    accepts: route.access === 'wallet' ? [] : accepts,
    extensions: { 'sign-in-with-x': { ...challenge, schema: SIGN_IN_SCHEMA } },
  }
  exchange.setHeader('PAYMENT-REQUIRED', Buffer.from(JSON.stringify(required)).toString('base64'))
  exchange.setHeader('Cache-Control', 'no-store')
  if (!isShort) return { ...required, authOptions: authOptions(services) }
  return shortOfMoney(exchange, error, { wallet: shortWallet, accepts, challenge })
}

function authOptions({ identity: { publicUrl, docsUrl } }: Services) {
  const docs = docsUrl === null ? {} : { docs: docsUrl }
  return {
    apiKey: {
      header: 'Authorization: Bearer <API_KEY>',
      getKey: 'The operator of this service creates accounts and their first keys',
      ...docs,
    },
    x402Wallet: {
      header: 'SIGN-IN-WITH-X',
      legacyHeader: 'X-Sign-In-With-X',
      topUp: `${publicUrl}/api/v1/x402/top-up`,
      ...docs,
    },
  }
}

/** Body for a signed-in wallet whose balance is too low. */
function shortOfMoney(
  { services }: Exchange,
  error: DomainError,
  {
    wallet,
    accepts,
    challenge,
  }: { wallet: WalletCaller; accepts: readonly PaymentRequirement[]; challenge: SignInChallenge },
): object {
  const minimumTopUpUsd = atomicToUsdNumber(TOP_UP_MIN_ATOMIC)
  const first =
    accepts.find(({ network }) => FAMILY_OF_CHAIN[wallet.walletChain] === network.split(':')[0]) ?? accepts[0]
  const topUpUrl = `${services.identity.publicUrl}/api/v1/x402/top-up`
  return {
    error: 'Payment required',
    code: 'PAYMENT_REQUIRED',
    reason: 'insufficient_balance',
    message: error.message,
    currentBalanceUsd: Number(error.facts?.['balanceUsd'] ?? 0),
    minimumBalanceUsd: toUsdNumber(services.wallets.statements.minimumNanoUsd),
    description: 'Prepaid credit of this wallet, topped up with USDC',
    suggestedTopUpUsd: atomicToUsdNumber(TOP_UP_SUGGESTED_ATOMIC),
    minimumTopUpUsd,
    supportedTokens: ['USDC'],
    supportedChains: accepts.map(({ network }) => NAME_OF_FAMILY[network.split(':')[0] ?? ''] ?? network),
    topUpInstructions: {
      step1: `POST ${topUpUrl} without a payment header: the response lists the payment options`,
      step2: `Sign one of its entries for at least ${minimumTopUpUsd} USD in USDC`,
      step3: 'Send the same request again with the signed payment in the header PAYMENT-SIGNATURE',
      receiverWallet: first?.payTo,
      tokenAddress: first?.asset,
      tokenDecimals: USDC_DECIMALS,
      network: first?.network,
      minimumAmountUsd: minimumTopUpUsd,
    },
    siwxChallenge: challenge,
  }
}
