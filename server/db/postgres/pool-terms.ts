/** How many connections one kind of work has, and how long its statements may take. */
export interface PoolTerms {
  connections: number
  /** The server ends a statement after this time; the client gives up a second later and closes the connection. */
  statementMs: number
  /** The server ends a statement that waits this long for a lock. */
  lockMs: number
  /** How the transaction around each statement begins; the server applies these terms in it behind any pooler. */
  begin: 'begin' | 'begin read only' | null
}

/**
 * Each kind of work has its own connections: the money path never waits for reports, and the lease of the process never
 * waits for anything. The deadlines are short enough that a connection that died silently costs less than 15 s.
 */
export const POOL_TERMS = {
  /** The statements of the money path; those for locked accounts wait beside the others. */
  money: { connections: 8, statementMs: 3_000, lockMs: 2_000, begin: null },
  /** The lease of the process, and the release of the holds of ended processes. */
  leases: { connections: 2, statementMs: 3_000, lockMs: 2_000, begin: null },
  /** Everything else that a request waits for. */
  requests: { connections: 7, statementMs: 4_000, lockMs: 2_000, begin: null },
  /** Analytics, history, logs and lists. */
  reports: { connections: 5, statementMs: 10_000, lockMs: 2_000, begin: 'begin read only' },
  /** Migrations, verification and maintenance, whose duration grows with the data. */
  jobs: { connections: 2, statementMs: 600_000, lockMs: 600_000, begin: 'begin' },
} as const satisfies Record<string, PoolTerms>

/** The server ends idle transactions on its own if the process cannot, because its host vanished. */
export const IDLE_IN_TRANSACTION_MS = 4_000

/** Covers both the wait for a free connection and opening one. */
export const CONNECT_TIMEOUT_MS = 4_000

/** Starting a transaction does nothing slow; on a dead connection it fails before the statement does. */
export const BEGIN_TIMEOUT_MS = 3_000

/** Beyond the server's own limit, so a slow statement does not cost its connection. */
export const ANSWER_MARGIN_MS = 1_000

/** Detects a host that vanished silently within 13 s: Node sends ten probes, one a second, after this. */
export const KEEP_ALIVE_DELAY_MS = 3_000
