import { DomainError } from '../../server/domain/errors.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import { KeyEvents } from '../../server/domain/key-events.ts'
import { AbuseGuard } from '../../server/domain/rate-limits/abuse-guard.ts'
import { LimitTable } from '../../server/domain/rate-limits/limit-table.ts'
import type { ContractWalletVerifier } from '../../server/domain/wallets/sign-in/evm-signature.ts'
import { SignInService } from '../../server/domain/wallets/sign-in/sign-in-service.ts'
import type { SingleUseStore } from '../../server/domain/wallets/sign-in/single-use-store.ts'
import type { WalletAccountSettings } from '../../server/domain/wallets/wallet-account-repository.ts'
import { WalletAccounts } from '../../server/domain/wallets/wallet-accounts.ts'
import { MemoryPubSub } from '../../server/store/memory/memory-pub-sub.ts'
import { createFakeClock } from './fake-clock.ts'
import { silentLog } from './key-harness.ts'
import { createMemoryClaims } from './memory-claims.ts'
import { SERVICE_ORIGIN } from './wallet-signers.ts'

export const CLIENT_ADDRESS = '192.0.2.1'

/** Sign-in without HTTP and database; what the account's row would say is `settings`. */
export function createSignInHarness(
  options: { nonces?: SingleUseStore; contractWallets?: ContractWalletVerifier; failuresMax?: number } = {},
) {
  const clock = createFakeClock()
  const pubSub = new MemoryPubSub(silentLog)
  const events = new KeyEvents({ pubSub })
  const settings: { current: WalletAccountSettings | undefined; reads: number } = { current: undefined, reads: 0 }
  const repository = {
    find: async () => {
      settings.reads++
      return settings.current
    },
  }
  const accounts = new WalletAccounts({ repository, events, stakes: { notice: () => {} }, clock })
  const limits = LimitTable.parse({ abuse: { failures: options.failuresMax ?? 10_000 } }).abuse
  const abuseGuard = new AbuseGuard({
    limits,
    clock,
    ids: createIdSource(clock),
    pubSub,
    refusals: { record: () => {} },
  })
  const signIn = new SignInService({
    origin: SERVICE_ORIGIN,
    nonces: options.nonces ?? createMemoryClaims(),
    accounts,
    abuseGuard,
    contractWallets: options.contractWallets ?? null,
    clock,
  })
  return { clock, events, settings, accounts, abuseGuard, signIn }
}

export type SignInHarness = ReturnType<typeof createSignInHarness>

/** `ok`, or the code of the refusal without what all of them begin with. */
export async function signInOutcome(
  { signIn }: Pick<SignInHarness, 'signIn'>,
  header: string,
  address = CLIENT_ADDRESS,
): Promise<string> {
  try {
    await signIn.signIn(header, address)
    return 'ok'
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return error.publicCode?.replace('X402_SIGN_IN_', '') ?? error.code
  }
}
