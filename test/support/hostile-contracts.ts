import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Address, encodeErrorResult, type Hex, parseAbi, size } from 'viem'
import type { BaseChain } from './base-chain.ts'

const LOOKUP_ABI = parseAbi([
  'error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)',
])

export interface Listener extends AsyncDisposable {
  url: string
  connections: number
}

/** Counts who connects to it. */
export async function startListener(): Promise<Listener> {
  const listener = { connections: 0 }
  const server = createServer((_, response) => response.end('{"data":"0x1234"}'))
  server.on('connection', () => {
    listener.connections++
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(listener, {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

/** Code that reverts every call at this address with the request to look something up at the URLs (EIP-3668). */
function lookupCode(address: Address, urls: string[]): Hex {
  const data = encodeErrorResult({
    abi: LOOKUP_ABI,
    errorName: 'OffchainLookup',
    args: [address, urls, '0x1234', '0x12345678', '0x'],
  })
  const length = size(data).toString(16).padStart(4, '0')
  // codecopy(0, 15, length) and revert(0, length)
  return `0x61${length}61000f60003961${length}6000fd${data.slice(2)}`
}

/** Makes an account look off the chain whenever its signature is checked; `as` is the one that delegates to it. */
export async function placeLookupContract(
  chain: BaseChain,
  address: Address,
  url: string,
  as = address,
): Promise<void> {
  const urls = [`${url}get?d={data}`, `${url}post`]
  await chain.client.setCode({ address, bytecode: lookupCode(as, urls) })
}

/** The code of an account that delegates to another one's (EIP-7702). */
export async function delegate(chain: BaseChain, account: Address, to: Address): Promise<void> {
  await chain.client.setCode({ address: account, bytecode: `0xef0100${to.slice(2)}` })
}
