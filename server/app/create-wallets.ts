import type { Config } from '../config/config.ts'
import type { ApiKeyService } from '../domain/api-keys/api-key-service.ts'
import type { KeyEvents } from '../domain/key-events.ts'
import type { BalanceFeed } from '../domain/ledger/balance-feed.ts'
import type { LedgerService } from '../domain/ledger/ledger-service.ts'
import { parseUsd } from '../domain/money.ts'
import type { AbuseGuard } from '../domain/rate-limits/abuse-guard.ts'
import { AddressLimit } from '../domain/rate-limits/address-limit.ts'
import { SignInChallenges } from '../domain/wallets/sign-in/sign-in-challenge.ts'
import { SignInService } from '../domain/wallets/sign-in/sign-in-service.ts'
import { SingleUseRepository } from '../domain/wallets/sign-in/single-use-repository.ts'
import { WalletSessions } from '../domain/wallets/sign-in/wallet-session.ts'
import { WalletSessionRepository } from '../domain/wallets/sign-in/wallet-session-repository.ts'
import { WalletStakeRepository } from '../domain/wallets/stakes/wallet-stake-repository.ts'
import { WalletStakes } from '../domain/wallets/stakes/wallet-stakes.ts'
import { WalletAccountRepository } from '../domain/wallets/wallet-account-repository.ts'
import { WalletAccounts } from '../domain/wallets/wallet-accounts.ts'
import { WalletLinkRepository } from '../domain/wallets/wallet-link-repository.ts'
import { WalletLinks } from '../domain/wallets/wallet-links.ts'
import { WalletStatementRepository } from '../domain/wallets/wallet-statement-repository.ts'
import { WalletStatements } from '../domain/wallets/wallet-statements.ts'
import { Web3KeyService } from '../domain/wallets/web3-key-service.ts'
import { Web3KeyTokens } from '../domain/wallets/web3-key-token.ts'
import { createContractWalletVerifier } from '../upstream/wallets/contract-wallet-verifier.ts'
import type { Infrastructure } from './infrastructure.ts'
import type { MaintenanceTask } from './maintenance.ts'

type WalletParts = Pick<Infrastructure, 'db' | 'reports' | 'clock' | 'ids' | 'log' | 'stakingChain' | 'windows'> & {
  events: KeyEvents
  abuseGuard: AbuseGuard
  ledger: LedgerService
  balanceFeed: BalanceFeed
  apiKeys: ApiKeyService
}

/** Sign-in of wallets, their sessions, links, stakes and keys, and their view of their accounts. */
export function createWallets(config: Config, parts: WalletParts) {
  const { db, reports, clock, ids, events, abuseGuard, ledger } = parts
  const origin = config.service.publicUrl
  const repository = new WalletAccountRepository(db)
  const singleUse = new SingleUseRepository(db)
  const stakes = createStakes(config, { ...parts, singleUse })
  const accounts = new WalletAccounts({ repository, events, stakes, clock })
  const node = config.x402.base?.rpcUrl
  const contractWallets = node === undefined ? null : createContractWalletVerifier(node)
  const signIn = new SignInService({ origin, nonces: singleUse, accounts, abuseGuard, contractWallets, clock })
  const walletSessions = new WalletSessions({
    ...parts,
    origin,
    pepper: config.secrets.keyPepper,
    lifetimeSeconds: config.x402.sessionSeconds,
    accounts,
    repository: new WalletSessionRepository(db),
  })
  const services = {
    accounts,
    signIn,
    links: new WalletLinks({ ...parts, repository: new WalletLinkRepository(db), signIn, accounts }),
    web3Keys: new Web3KeyService({
      ...parts,
      ...createWeb3KeyGuards(config, parts),
      singleUse,
      contractWallets,
      stakes,
      accounts,
      repository,
    }),
    challenges: new SignInChallenges({
      origin,
      serviceName: config.service.name,
      contractWallets: node !== undefined,
      clock,
      ids,
    }),
    sessions: walletSessions,
    statements: new WalletStatements({
      repository: new WalletStatementRepository(reports),
      ledger,
      minimumNanoUsd: walletMinimumNanoUsd(config),
    }),
  }
  return { services, accounts, stakes, tasks: maintenanceTasks(config, { stakes, walletSessions, singleUse }) }
}

function maintenanceTasks(
  { staking }: Config,
  {
    stakes,
    walletSessions,
    singleUse,
  }: { stakes: WalletStakes; walletSessions: WalletSessions; singleUse: SingleUseRepository },
): MaintenanceTask[] {
  const sessions = { name: 'wallet sessions', everySeconds: 600, run: () => walletSessions.maintain() }
  const claims = { name: 'single use claims', everySeconds: 60, run: () => singleUse.deleteExpired() }
  if (staking === undefined) return [sessions, claims]
  return [sessions, claims, { name: 'stakes', everySeconds: staking.refreshSeconds, run: () => stakes.refresh() }]
}

function createStakes({ staking }: Config, parts: WalletParts & { singleUse: SingleUseRepository }): WalletStakes {
  const { db, clock, ids, log, singleUse, stakingChain, balanceFeed } = parts
  return new WalletStakes({
    chain: stakingChain,
    stakes: new WalletStakeRepository(db),
    balanceFeed,
    turns: singleUse,
    refreshSeconds: staking?.refreshSeconds ?? 0,
    clock,
    ids,
    log,
  })
}

/** Protects key creation by signature: it needs a token of this service, and calls per address are limited. */
function createWeb3KeyGuards({ service, secrets, limits }: Config, { windows, clock, ids }: WalletParts) {
  const limit = new AddressLimit({
    store: windows,
    what: 'web3 key calls',
    perMinute: limits.wallet.web3KeyCallsPerMinutePerIp,
    advice: 'Try again',
  })
  return { tokens: new Web3KeyTokens({ origin: service.publicUrl, pepper: secrets.keyPepper, clock, ids }), limit }
}

export function walletMinimumNanoUsd(config: Config): bigint {
  return parseUsd(config.x402.minimumBalanceUsd) ?? 0n
}
