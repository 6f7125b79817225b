/** How many connections one kind of work has, and how long its statements may take. */
export interface PoolTerms {
  connections: number
  /** After this the server ends a statement; the client gives it up a second later, with its connection. */
  statementMs: number
  /** After this the server ends a statement that waits for a lock. */
  lockMs: number
  /** How the transaction begins that each statement of its own gets, in which the server keeps these terms behind any pooler. */
  begin: 'begin' | 'begin read only' | null
}

/**
 * Each kind of work has connections of its own, so none waits for another: the money path for reports, or the lease of
 * the process for anything. The deadlines are short enough that a connection that died silently costs less than 15 s.
 */
export const POOL_TERMS = {
  /** The statements of the money path, of which those for locked accounts wait beside the others. */
  money: { connections: 8, statementMs: 3_000, lockMs: 2_000, begin: null },
  /** The lease of the process, and the release of the holds of ended processes. */
  leases: { connections: 2, statementMs: 3_000, lockMs: 2_000, begin: null },
  /** Everything else that a request waits for. */
  requests: { connections: 7, statementMs: 4_000, lockMs: 2_000, begin: null },
  /** Analytics, history, logs and lists. */
  reports: { connections: 5, statementMs: 10_000, lockMs: 2_000, begin: 'begin read only' },
  /** Migrations, verification and maintenance, which take as long as the data is large. */
  jobs: { connections: 2, statementMs: 600_000, lockMs: 600_000, begin: 'begin' },
} as const satisfies Record<string, PoolTerms>

/** What the server ends on its own, when the process cannot: the transaction of a host that vanished. */
export const IDLE_IN_TRANSACTION_MS = 4_000

/** Covers the wait for a free connection as well as the making of one. */
export const CONNECT_TIMEOUT_MS = 4_000

/** The start of a transaction does nothing that could take longer; on a dead connection it fails instead of its statement. */
export const BEGIN_TIMEOUT_MS = 3_000

/** Beyond the server's own limit, so that a slow statement does not cost its connection. */
export const ANSWER_MARGIN_MS = 1_000

/** A host that vanished without a word shows within 13 s: Node sends ten probes, one a second, after this. */
export const KEEP_ALIVE_DELAY_MS = 3_000
