import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createNetworkTable } from '../../server/domain/rpc/networks.ts'
import { parseReference } from './json-reference.ts'

/** What a node does in place of a proper answer to the next request. */
export type NodeFault =
  | { kind: 'status'; status: number; body?: string; contentType?: string }
  /** Answers properly once the gate opens. */
  | { kind: 'gate'; until: Promise<unknown> }
  | { kind: 'reorder' }
  | { kind: 'drop'; position: number }
  /** One error object for a whole batch. */
  | { kind: 'single-error' }
  | { kind: 'truncate' }
  | { kind: 'html' }
  /** Cuts the connection, before the head or after so many bytes of the answer. */
  | { kind: 'hang-up'; afterBytes?: number }
  | { kind: 'empty'; status?: number }
  /** A result string of so many bytes, written piece by piece at the reader's pace. */
  | { kind: 'huge'; bytes: number; member?: 'result' | 'error' }
  /** Ids beyond 2^53 come back rounded. */
  | { kind: 'round-ids' }

export interface RecordedCall {
  body: string
  path: string
  headers: IncomingHttpHeaders
  /** The client left before the answer was complete. */
  aborted: boolean
}

export interface RpcNodeServer extends AsyncDisposable {
  url: string
  calls: RecordedCall[]
  /** Raw JSON of the result by method; other methods answer -32601. */
  results: Map<string, string>
  /** One fault for each of the next requests, in order. */
  failNext(...faults: NodeFault[]): void
  close(): Promise<void>
}

/** Answers as networks without a runnable node were recorded to give them; integers are beyond what a float holds. */
const RECORDED_RESULTS: readonly [string, string][] = [
  ['eth_chainId', '"0x1"'],
  ['eth_blockNumber', '"0x10d4f"'],
  ['eth_sendRawTransaction', `"0x${'ab'.repeat(32)}"`],
  ['net_version', '"1"'],
  ['bor_getAuthor', '"0x0000000000000000000000000000000000000000"'],
  ['bor_getSignersAtHash', '["0x742d13F0B2A19C823bdd362b16305e4704b97A38"]'],
  ['trace_block', '[{"action":{"value":"0x0"},"subtraces":0,"traceAddress":[ ],"type":"call"}]'],
  ['trace_replayTransaction', '{"output":"0x","stateDiff":null,"trace":[],"vmTrace":null}'],
  ['txpool_content', '{"pending":{},"queued":{}}'],
  ['txpool_status', '{"pending":"0xa","queued":"0x7"}'],
  ['zks_L1BatchNumber', '"0x1f4a"'],
  ['zks_getBridgeContracts', '{"l1Erc20DefaultBridge":null,"l2Erc20DefaultBridge":null}'],
  ['linea_getProof', '{"accountProof":{"key":"0x0","leafIndex":18446744073709551616}}'],
  ['linea_estimateGas', '{"gasLimit":"0xcf08","baseFeePerGas":"0x7","priorityFeePerGas":"0x43a82a4"}'],
  ['arbtrace_call', '{"output":"0x","stateDiff":null,"trace":[],"vmTrace":null}'],
  ['arbtrace_replayTransaction', '{"output":"0x","stateDiff":null,"trace":[],"vmTrace":null}'],
  ['starknet_blockNumber', '641422'],
  ['starknet_chainId', '"0x534e5f4d41494e"'],
  ['starknet_getNonce', '"0x1f"'],
  ['starknet_addInvokeTransaction', '{"transaction_hash":"0x5d3"}'],
  ['getBalance', '{"context":{"apiVersion":"2.1.0","slot":18446744073709551615},"value":9007199254740993}'],
  ['getSupply', '{"context":{"slot":1},"value":{"total":592303498041029512,"nonCirculatingAccounts":[]}}'],
  ['getLargestAccounts', '{"context":{"slot":1},"value":[{"address":"99P8","lamports":18446744073709551615}]}'],
  ['sendTransaction', '"5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"'],
]

/**
 * A JSON-RPC node of recorded answers with faults on demand. It keeps raw ids and answers notifications with nothing. A
 * path that names a network, such as `/zksync-mainnet`, makes it a node of that network.
 */
export async function startRpcNode(): Promise<RpcNodeServer> {
  const calls: RecordedCall[] = []
  const results = new Map(RECORDED_RESULTS)
  const faults: NodeFault[] = []
  const server = createServer((request, response) => {
    void serve(request, { response, calls, results, fault: faults.shift() })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls,
    results,
    failNext: (...next) => void faults.push(...next),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Serving {
  response: ServerResponse
  calls: RecordedCall[]
  results: ReadonlyMap<string, string>
  fault: NodeFault | undefined
}

async function serve(request: IncomingMessage, { response, calls, results, fault }: Serving): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks).toString()
  const call: RecordedCall = { body, path: request.url ?? '', headers: request.headers, aborted: false }
  calls.push(call)
  response.once('close', () => {
    call.aborted = !response.writableFinished
  })
  if (fault?.kind === 'gate') await fault.until
  const reply = (text: string, status = 200, contentType = 'application/json') =>
    void response.writeHead(status, { 'content-type': contentType }).end(text)
  const answer = answerTo(body, new Map([...results, ...identityOf(call.path)]), fault)
  switch (fault?.kind) {
    case 'status':
      return reply(fault.body ?? 'key sk-secret is over its quota', fault.status, fault.contentType)
    case 'html':
      return reply('<html>upstream.internal is down</html>', 200, 'text/html')
    case 'empty':
      return reply('', fault.status ?? 200)
    case 'truncate':
      return reply(answer.slice(0, -3))
    case 'hang-up':
      if (fault.afterBytes === undefined) return void response.destroy()
      return void response.writeHead(200).write(answer.padEnd(fault.afterBytes), () => response.destroy())
    case 'huge':
      return writeHuge(response, fault)
    default:
      return answer === '' ? reply('', 204) : reply(answer)
  }
}

const NETWORKS = createNetworkTable('robinhood')

/** What the node says of its chain when its path names a network. */
function identityOf(path: string): [string, string][] {
  const network = NETWORKS.get(path.slice(1))
  if (network === undefined) return []
  const { family, chainId } = network
  if (family === 'evm') return [['eth_chainId', `"0x${BigInt(chainId).toString(16)}"`]]
  if (family === 'starknet') return [['starknet_chainId', `"0x${Buffer.from(chainId).toString('hex')}"`]]
  return [['getGenesisHash', JSON.stringify(chainId)]]
}

function answerTo(body: string, results: ReadonlyMap<string, string>, fault: NodeFault | undefined): string {
  const root = parseReference(body)
  if (fault?.kind === 'single-error' && root.kind === 'array') {
    return '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"batches are limited"}}'
  }
  const answers = (root.kind === 'array' ? root.elements : [root]).flatMap((node) => {
    const raw = (name: string) => node.members.find((member) => member.name === name)?.value.raw
    const id = raw('id')
    if (id === undefined) return []
    const result = results.get(String(JSON.parse(raw('method') ?? '""')))
    const shown = fault?.kind === 'round-ids' ? JSON.stringify(JSON.parse(id)) : id
    const outcome = result === undefined ? '"error":{"code":-32601,"message":"unknown method"}' : `"result":${result}`
    return [`{"jsonrpc":"2.0","id":${shown},${outcome}}`]
  })
  if (fault?.kind === 'reorder') answers.reverse()
  if (fault?.kind === 'drop') answers.splice(fault.position, 1)
  if (root.kind !== 'array') return answers[0] ?? ''
  return answers.length === 0 ? '' : `[${answers.join(',')}]`
}

const PIECE = Buffer.alloc(65_536, 0x61)

function writeHuge(response: ServerResponse, fault: { bytes: number; member?: 'result' | 'error' }): void {
  const open = fault.member === 'error' ? '"error":{"code":1,"message":"' : '"result":"'
  response.writeHead(200, { 'content-type': 'application/json' }).write(`{"jsonrpc":"2.0","id":1,${open}`)
  let left = fault.bytes
  const pump = (): void => {
    while (left > 0) {
      const piece = PIECE.subarray(0, Math.min(left, PIECE.length))
      left -= piece.length
      if (!response.write(piece)) {
        response.once('drain', pump)
        return
      }
    }
    response.end(fault.member === 'error' ? '"}}' : '"}')
  }
  pump()
}
