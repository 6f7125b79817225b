/** Limits of one GraphQL request, one page and one socket. Generous for clients, and cheap to enforce. */
export interface GraphqlLimits {
  tokensMax: number
  depthMax: number
  aliasesMax: number
  rootFieldsMax: number
  directivesMax: number
  complexityMax: number
  bodyBytesMax: number
  executionTimeoutMs: number
  socketMessageBytesMax: number
  socketInitTimeoutMs: number
  socketPingIntervalMs: number
  /** Sockets of one address that are not authenticated yet. */
  socketsInInitPerAddressMax: number
  /** Bytes that a client may leave unread before its socket is closed. */
  socketUnreadBytesMax: number
  subscriptionsPerSocketMax: number
  /** Operations beyond those that are rejected one by one; then the socket is closed. */
  refusedOperationsPerSocketMax: number
  /** Sockets and event streams together. */
  connectionsPerKeyMax: number
}

export const GRAPHQL_LIMITS: Readonly<GraphqlLimits> = {
  tokensMax: 1_000,
  depthMax: 8,
  aliasesMax: 15,
  rootFieldsMax: 10,
  directivesMax: 20,
  complexityMax: 2_000,
  bodyBytesMax: 256 * 1024,
  executionTimeoutMs: 10_000,
  socketMessageBytesMax: 64 * 1024,
  socketInitTimeoutMs: 3_000,
  socketPingIntervalMs: 15_000,
  socketsInInitPerAddressMax: 3,
  socketUnreadBytesMax: 1024 * 1024,
  subscriptionsPerSocketMax: 20,
  refusedOperationsPerSocketMax: 100,
  connectionsPerKeyMax: 10,
}
