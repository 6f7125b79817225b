import type { ApiKeyRepository } from '../api-keys/api-key-repository.ts'
import { hashApiKeySecret, parseApiKeySecret } from '../api-keys/api-key-secret.ts'
import type { LastUsedRecorder } from '../api-keys/last-used-recorder.ts'
import type { Caller, KeyCaller } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { KeyEvent, KeyEvents } from '../key-events.ts'
import { RecentCache } from '../recent-cache.ts'
import { within } from '../within.ts'

/** How long a revoked key can stay valid if a message between processes is lost. */
const CACHE_AGE_MS_MAX = 5_000
const CACHED_KEYS_MAX = 50_000
const CACHED_UNKNOWN_KEYS_MAX = 5_000
const REMEMBERED_HASHES_MAX = 5_000
/** Maximum time that a request waits for its key to be read; then the client is asked to retry. */
const LOOKUP_PATIENCE_MS = 5_000

interface Lookup {
  /** Null if the key does not exist or is revoked. */
  caller: KeyCaller | null
  revoked: boolean
  suspended: boolean
  loadedAtMs: number
}

type KeyListener = () => void

export interface AuthServiceDeps {
  repository: Pick<ApiKeyRepository, 'findByHash'>
  events: KeyEvents
  lastUsed: Pick<LastUsedRecorder, 'touch'>
  clock: Clock
  pepper: string
}

/**
 * Authenticates requests by API key. A secret with a wrong checksum needs no query; a known key is read from the database
 * at most every 5 seconds, and once for all waiting requests. Changes of keys and tiers reach this cache as events.
 */
export class AuthService {
  readonly #deps: AuthServiceDeps
  readonly #known = new RecentCache<Lookup>({ entriesMax: CACHED_KEYS_MAX })
  /** Separate from the known keys, so that guesses cannot evict those. */
  readonly #unknown = new RecentCache<Lookup>({ entriesMax: CACHED_UNKNOWN_KEYS_MAX })
  readonly #hashes = new RecentCache<string>({ entriesMax: REMEMBERED_HASHES_MAX })
  readonly #loading = new Map<string, Promise<Lookup>>()
  readonly #revocationListeners = new Map<string, Set<KeyListener>>()
  readonly #changeListeners = new Map<string, Set<KeyListener>>()
  readonly #stopListening: () => void

  constructor(deps: AuthServiceDeps) {
    this.#deps = deps
    this.#stopListening = deps.events.listen((event) => this.#invalidate(event))
  }

  /**
   * Returns the caller of a Bearer secret. Fails with `unauthenticated`, or with `forbidden` while its account is
   * suspended.
   */
  async authenticateKey(secret: string): Promise<KeyCaller> {
    const hash = this.#hashOf(secret)
    const { caller, revoked, suspended } = this.#cached(hash) ?? (await this.#load(hash))
    if (caller === null)
      throw revoked ? keyInactive('Authentication failed: the API key was revoked') : authenticationFailed()
    if (caller.expiresAt !== null && caller.expiresAt.getTime() <= this.#deps.clock.nowMs()) {
      throw keyInactive('API key expired')
    }
    if (suspended) {
      throw new DomainError('forbidden', 'This account is suspended: ask the operator of the service to resume it')
    }
    this.#deps.lastUsed.touch(caller)
    return caller
  }

  /** Remembers the hashes of well-formed keys, because hashing costs as much as the rest of a cached look-up. */
  #hashOf(secret: string): string {
    const known = this.#hashes.get(secret)
    if (known !== undefined) return known
    if (parseApiKeySecret(secret) === undefined) throw authenticationFailed()
    const hash = hashApiKeySecret(secret, this.#deps.pepper)
    this.#hashes.set(secret, hash)
    return hash
  }

  /** Fails with `admin_key_required` unless the caller is an ADMIN key. */
  requireAdmin(caller: Caller): KeyCaller {
    if (caller.kind === 'key' && caller.keyType === 'ADMIN') return caller
    throw new DomainError('admin_key_required', 'Admin API key required')
  }

  /** Calls `listener` once when the key is revoked, in any process. Returns a function that stops listening. */
  onRevoked(keyId: string, listener: KeyListener): () => void {
    return addListener(this.#revocationListeners, keyId, listener)
  }

  /**
   * Calls `listener` whenever settings of the key or its account change, including expiry and suspension. Returns a
   * function that stops listening.
   */
  onChanged(keyId: string, listener: KeyListener): () => void {
    return addListener(this.#changeListeners, keyId, listener)
  }

  close(): void {
    this.#stopListening()
    this.#revocationListeners.clear()
    this.#changeListeners.clear()
  }

  #cached(hash: string): Lookup | undefined {
    const lookup = this.#known.get(hash) ?? this.#unknown.get(hash)
    if (lookup === undefined) return undefined
    const ageMs = this.#deps.clock.nowMs() - lookup.loadedAtMs
    return ageMs >= 0 && ageMs < CACHE_AGE_MS_MAX ? lookup : undefined
  }

  #load(hash: string): Promise<Lookup> {
    const running = this.#loading.get(hash)
    if (running !== undefined) return running
    const load = this.#read(hash)
      .then((lookup) => {
        // An event meanwhile removed this load from the map, because its result may be older than the change.
        if (this.#loading.get(hash) === load) this.#remember(hash, lookup)
        return lookup
      })
      .finally(() => {
        if (this.#loading.get(hash) === load) this.#loading.delete(hash)
      })
    this.#loading.set(hash, load)
    return load
  }

  async #read(hash: string): Promise<Lookup> {
    const loadedAtMs = this.#deps.clock.nowMs()
    const found = await within(LOOKUP_PATIENCE_MS, this.#deps.repository.findByHash(hash))
    if (found === undefined || found.key.revokedAt !== null) {
      return { caller: null, revoked: found !== undefined, suspended: false, loadedAtMs }
    }
    const { key, tier, limitOverrides } = found
    const caller: KeyCaller = Object.freeze({
      kind: 'key',
      accountId: key.accountId,
      keyId: key.id,
      keyType: key.type,
      tier,
      modelPrivacy: key.modelPrivacy,
      expiresAt: key.expiresAt,
      ...(limitOverrides === null ? {} : { limitOverrides }),
    })
    return { caller, revoked: false, suspended: found.suspended, loadedAtMs }
  }

  #remember(hash: string, lookup: Lookup): void {
    if (lookup.caller === null) {
      this.#known.delete(hash)
      this.#unknown.set(hash, lookup)
    } else {
      this.#known.set(hash, lookup)
    }
  }

  #invalidate({ kind, id }: KeyEvent): void {
    this.#loading.clear()
    const changedKeyIds = new Set(kind === 'key-changed' ? [id] : [])
    for (const [hash, { caller }] of this.#known.entries()) {
      if (caller === null || (kind === 'account-changed' ? caller.accountId : caller.keyId) !== id) continue
      this.#known.delete(hash)
      if (kind === 'account-changed') changedKeyIds.add(caller.keyId)
    }
    for (const keyId of changedKeyIds) notify(this.#changeListeners.get(keyId))
    if (kind === 'key-revoked') {
      const listeners = this.#revocationListeners.get(id)
      this.#revocationListeners.delete(id)
      notify(listeners)
    }
  }
}

function authenticationFailed(): DomainError {
  return new DomainError('unauthenticated', 'Authentication failed')
}

/** The key was valid before, so its owner may know why it no longer is. */
function keyInactive(message: string): DomainError {
  return new DomainError('unauthenticated', message, { publicCode: 'AUTHENTICATION_FAILED_INACTIVE_KEY' })
}

function addListener(map: Map<string, Set<KeyListener>>, keyId: string, listener: KeyListener): () => void {
  const listeners = map.get(keyId) ?? new Set()
  map.set(keyId, listeners.add(listener))
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0 && map.get(keyId) === listeners) map.delete(keyId)
  }
}

function notify(listeners: ReadonlySet<KeyListener> | undefined): void {
  for (const listener of listeners ?? []) listener()
}
