import { describe, expect, test } from 'vitest'
import { MethodTable, quotedMethod } from '../../../../server/domain/rpc/method-table.ts'
import type { RpcFamily } from '../../../../server/domain/rpc/networks.ts'

const table = new MethodTable()
const reason = (family: RpcFamily, name: string) => {
  const verdict = table.find(family, name)
  return verdict.method === null ? verdict.reason : `allowed: ${verdict.method.name}`
}

test.each([
  ['evm', 'eth_subscribe', /HTTP only/],
  ['evm', 'eth_unsubscribe', /HTTP only/],
  ['solana', 'accountSubscribe', /HTTP only/],
  ['solana', 'somethingNewUnsubscribe', /HTTP only/],
  ['starknet', 'starknet_subscribeNewHeads', /HTTP only/],
  ['evm', 'eth_newFilter', /use eth_getLogs/],
  ['evm', 'eth_getFilterChanges', /use eth_getLogs/],
  ['evm', 'eth_getFilterLogs', /use eth_getLogs/],
  ['evm', 'eth_uninstallFilter', /use eth_getLogs/],
  ['evm', 'eth_newBlockFilter', /use eth_getLogs/],
  ['evm', 'eth_newPendingTransactionFilter', /use eth_getLogs/],
  ['evm', 'eth_sign', /sign locally/],
  ['evm', 'eth_accounts', /sign locally/],
  ['evm', 'eth_mining', /miner/],
  ['evm', 'eth_hashrate', /miner/],
  ['evm', 'eth_getWork', /miner/],
  ['evm', 'eth_submitWork', /miner/],
  ['evm', 'debug_setHead', /administers/],
  ['evm', 'admin_peers', /administers/],
  ['evm', 'eth_sendBundle', /not enabled/],
  ['solana', 'eth_call', /evm family.* solana family/],
  ['evm', 'getBalance', /solana family.* evm family/],
  ['evm', 'starknet_call', /starknet family/],
  ['evm', 'ETH_CHAINID', /spelled eth_chainId/],
  ['evm', 'eth_chainId ', /not on the list/],
  ['evm', 'eth_chainId\u0000', /not on the list/],
  ['evm', '__proto__', /not on the list/],
  ['evm', 'constructor', /not on the list/],
  ['evm', '', /not on the list/],
] as const)('%s %j is rejected with the reason', (family, name, expected) => {
  expect(reason(family, name)).toMatch(expected)
})

describe('the list is per family', () => {
  test.each([
    ['evm', 'bor_getAuthor'],
    ['evm', 'zks_L1ChainId'],
    ['evm', 'linea_estimateGas'],
    ['evm', 'arbtrace_call'],
    ['evm', 'eth_estimateUserOperationGas'],
    ['starknet', 'starknet_getStorageProof'],
    ['solana', 'getProgramAccounts'],
  ] as const)('%s serves %s on every network of the family', (family, name) => {
    expect(reason(family, name)).toBe(`allowed: ${name}`)
  })

  test('an operator can switch an optional method on, and no other kind', () => {
    const opened = new MethodTable({ optionalMethods: ['eth_sendBundle', 'eth_sign'] })
    expect(opened.find('evm', 'eth_sendBundle').method).toMatchObject({ write: true })
    expect(opened.find('evm', 'eth_sign').method).toBeNull()
  })
})

test('switched on together, all optional methods and only they are served besides', () => {
  const opened = new MethodTable({ optionalMethods: true })
  const families = ['evm', 'starknet', 'solana'] as const
  const added = families.flatMap((family) =>
    opened.list(family).flatMap(({ name }) => (table.find(family, name).method === null ? [name] : [])),
  )
  expect(added.toSorted()).toEqual(table.listOptional())
  expect(added).toContain('eth_sendBundle')
})

test('methods that change a chain are marked as writes, reads are not', () => {
  const writes = (['evm', 'starknet', 'solana'] as const).flatMap((family) =>
    table
      .list(family)
      .filter((method) => method.write)
      .map((method) => method.name),
  )
  expect(writes.toSorted()).toEqual([
    'eth_sendRawTransaction',
    'eth_sendUserOperation',
    'requestAirdrop',
    'sendTransaction',
    'starknet_addDeclareTransaction',
    'starknet_addDeployAccountTransaction',
    'starknet_addInvokeTransaction',
    'zks_sendRawTransactionWithDetailedOutput',
  ])
})

test('240 methods are served by default', () => {
  const counts = (['evm', 'starknet', 'solana'] as const).map((family) => table.list(family).length)
  expect(counts).toEqual([156, 32, 52])
})

test('a long or odd name is shortened and escaped for messages', () => {
  expect(quotedMethod(`a"\n${'x'.repeat(5_000)}`)).toMatch(/^"a\\"\\nx{77}…"$/)
})
