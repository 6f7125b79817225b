import type { CallerLimitOverrides } from './limit-overrides.ts'

export const API_KEY_TYPES = ['INFERENCE', 'ADMIN'] as const
export type ApiKeyType = (typeof API_KEY_TYPES)[number]

export const MODEL_PRIVACY_LEVELS = ['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'] as const
export type ModelPrivacy = (typeof MODEL_PRIVACY_LEVELS)[number]

export const ACCOUNT_TIERS = ['standard', 'partner', 'staff'] as const
export type AccountTier = (typeof ACCOUNT_TIERS)[number]

export interface KeyCaller {
  kind: 'key'
  accountId: string
  keyId: string
  keyType: ApiKeyType
  tier: AccountTier
  modelPrivacy: ModelPrivacy
  /** When the key expires, for sockets that outlive one request. */
  expiresAt: Date | null
  /** Absent if the operator set no limits. */
  limitOverrides?: CallerLimitOverrides
}

export interface WalletCaller {
  kind: 'wallet'
  accountId: string
  keyId: null
  tier: AccountTier
  modelPrivacy: 'ALL'
  walletChain: 'evm' | 'solana'
  walletAddress: string
  /** Absent if the operator set no limits. */
  limitOverrides?: CallerLimitOverrides
}

export type Caller = KeyCaller | WalletCaller

export interface RequestContext {
  /** 32 hexadecimal characters; the same id is in `CF-RAY`, the logs, the ledger and the receipt. */
  requestId: string
  caller: Caller
  /** Aborts when the client disconnects. */
  signal: AbortSignal
}
