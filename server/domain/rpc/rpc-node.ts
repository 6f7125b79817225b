export interface NodeAnswer {
  status: number
  /** Raw bytes, uncompressed. */
  body: AsyncIterable<Uint8Array>
  /** Ends the deadline of the answer as a whole: from here it is passed on as it arrives, and only pauses are limited. */
  startStream: () => void
}

/** One JSON-RPC node. `send` rejects only when no response head arrived (connection, timeout, abort). */
export interface RpcNode {
  /** Name for logs and receipts; says nothing about the host. */
  readonly id: string
  /** Items that the node takes in one batch; 1 when it takes none. */
  readonly batchItemsMax: number
  /** False: it may serve another chain than its network, as a development node does. */
  readonly checkChain: boolean
  send(body: Buffer, signal: AbortSignal): Promise<NodeAnswer>
  close(): Promise<void>
}
