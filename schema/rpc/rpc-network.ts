import type { RpcFamily, RpcNetwork } from '../../server/domain/rpc/networks.ts'
import { builder } from '../builder.ts'
import { PricedMethodType } from './priced-method.ts'

/** One line per family, so that a new family does not compile until it is described. */
const FAMILIES: Record<Uppercase<RpcFamily>, { value: RpcFamily; description: string }> = {
  EVM: { value: 'evm', description: 'Ethereum and compatible chains.' },
  STARKNET: { value: 'starknet', description: 'Starknet.' },
  SOLANA: { value: 'solana', description: 'Solana.' },
}

const RpcFamilyEnum = builder.enumType('RpcFamily', {
  description: 'Networks that share one list of methods.',
  values: FAMILIES,
})

/** Low enough for one operation to request the methods of all networks once. */
const METHODS_COMPLEXITY = 40

export const RpcNetworkType = builder.objectRef<RpcNetwork>('RpcNetwork').implement({
  description: 'A blockchain network that can be called through JSON-RPC.',
  fields: (t) => ({
    slug: t.exposeString('slug', { description: 'Its name in the path `/api/v1/crypto/rpc/{network}`.' }),
    family: t.expose('family', {
      type: RpcFamilyEnum,
      description: 'The family of the network, which decides its methods.',
    }),
    chainId: t.exposeString('chainId', { description: 'The chain id that its nodes return.' }),
    caip2: t.exposeString('caip2', { description: 'Its CAIP-2 identifier.' }),
    nativeSymbol: t.exposeString('nativeSymbol', { description: 'Symbol of the native coin.' }),
    baseCredits: t.exposeInt('baseCredits', { description: 'Credits of a standard call.' }),
    methods: t.field({
      type: [PricedMethodType],
      description: 'Its available methods, by name, with their prices.',
      // A static table: long, but cheap to read.
      complexity: METHODS_COMPLEXITY,
      resolve: (network, _args, { services }) => services.rpc.proxy.pricedMethods(network),
    }),
  }),
})

builder.queryField('rpcNetworks', (t) =>
  t.field({
    type: [RpcNetworkType],
    description: 'The available networks, by name. No credential is required.',
    complexity: { field: 1, multiplier: 30 },
    resolve: (_root, _args, { services }) => services.rpc.proxy.networks(),
  }),
)
