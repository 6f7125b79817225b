import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LiteSVM } from 'litesvm'
import { parseReference, type ReferenceNode } from './json-reference.ts'
import { SolanaLedger } from './solana-ledger.ts'
import { type Json, RpcFailure, SOLANA_METHODS } from './solana-methods.ts'

const DEVNET_GENESIS = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'

export interface SolanaNode extends AsyncDisposable {
  url: string
  svm: LiteSVM
  ledger: SolanaLedger
  /** Bodies as they came. */
  bodies: string[]
  close(): Promise<void>
}

/** A Solana runtime behind the HTTP of a node: enough for transfers, payments, reads and polling; it has no blocks. */
export async function startSolanaNode({ genesisHash = DEVNET_GENESIS } = {}): Promise<SolanaNode> {
  const ledger = new SolanaLedger()
  const bodies: string[] = []
  const answer = createAnswer(ledger, genesisHash)
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    bodies.push(body)
    const root = parseReference(body)
    const answers = (root.kind === 'array' ? root.elements : [root]).map(answer)
    response.setHeader('content-type', 'application/json')
    response.end(root.kind === 'array' ? `[${answers.join(',')}]` : answers[0])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, svm: ledger.svm, ledger, bodies, close, [Symbol.asyncDispose]: close }
}

function createAnswer(ledger: SolanaLedger, genesisHash: string): (node: ReferenceNode) => string {
  const methods = new Map(SOLANA_METHODS).set('getGenesisHash', () => genesisHash)
  return (node) => {
    const raw = (name: string): string => node.members.find((member) => member.name === name)?.value.raw ?? 'null'
    const method = methods.get(String(JSON.parse(raw('method'))))
    const reply = (outcome: string): string => `{"jsonrpc":"2.0",${outcome},"id":${raw('id')}}`
    const fail = (error: { [name: string]: Json }): string => reply(`"error":${write(error)}`)
    if (method === undefined) return fail({ code: -32_601, message: 'Method not found' })
    try {
      return reply(`"result":${write(method(ledger, (JSON.parse(raw('params')) as unknown[] | null) ?? []))}`)
    } catch (error) {
      if (!(error instanceof RpcFailure)) return fail({ code: -32_602, message: String(error) })
      const { code, message, data } = error
      return fail(data === null ? { code, message } : { code, message, data })
    }
  }
}

function write(value: Json): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`)
    .join(',')}}`
}
