import type { WalletAddress } from '../../server/domain/wallets/wallet-address.ts'
import { builder } from '../builder.ts'

const WalletChainEnum = builder.enumType('WalletChain', {
  description: 'What kind of key a wallet has.',
  values: {
    EVM: { value: 'evm' as const, description: 'A key or a contract on Base.' },
    SOLANA: { value: 'solana' as const, description: 'A key on Solana.' },
  },
})

export const WalletType = builder.objectRef<WalletAddress>('Wallet').implement({
  description: 'A wallet, which signs in for itself and pays for itself.',
  fields: (t) => ({
    chain: t.expose('chain', { type: WalletChainEnum, description: 'What kind of key it has.' }),
    address: t.exposeString('address', { description: 'In lower case on EVM; as it is on Solana.' }),
  }),
})
