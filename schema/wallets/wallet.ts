import type { WalletAddress } from '../../server/domain/wallets/wallet-address.ts'
import { builder } from '../builder.ts'

const WalletChainEnum = builder.enumType('WalletChain', {
  description: 'The chain of a wallet.',
  values: {
    EVM: { value: 'evm' as const, description: 'A key or a contract on Base.' },
    SOLANA: { value: 'solana' as const, description: 'A key on Solana.' },
  },
})

export const WalletType = builder.objectRef<WalletAddress>('Wallet').implement({
  description: 'A wallet, which can sign in and pay.',
  fields: (t) => ({
    chain: t.expose('chain', { type: WalletChainEnum, description: 'The chain of the wallet.' }),
    address: t.exposeString('address', {
      description: 'The address, in lower case for EVM; case-sensitive for Solana.',
    }),
  }),
})
