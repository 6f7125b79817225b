export interface NodeAnswer {
  status: number
  /** Raw bytes, uncompressed. */
  body: AsyncIterable<Uint8Array>
  /** Ends the overall response deadline: from here the body streams, and only pauses are limited. */
  startStream: () => void
}

/** One JSON-RPC node. `send` rejects only if no response headers arrived (connection, timeout, abort). */
export interface RpcNode {
  /** Name for logs and receipts; does not reveal the host. */
  readonly id: string
  /** Batch size that the node accepts; 1 if it accepts no batches. */
  readonly batchItemsMax: number
  /** False for a node that may serve another chain, such as a development node. */
  readonly checkChain: boolean
  send(body: Buffer, signal: AbortSignal): Promise<NodeAnswer>
  close(): Promise<void>
}
