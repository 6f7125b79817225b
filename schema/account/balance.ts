import { nextUtcMidnight } from '../../server/domain/clock.ts'
import type { Balance } from '../../server/domain/ledger/ledger.ts'
import { builder } from '../builder.ts'

export const CurrencyType = builder.enumType('Currency', {
  description: 'What a request is paid in.',
  values: {
    USD: { value: 'usd', description: 'Prepaid money.' },
    DIEM: {
      value: 'diem',
      description: 'Daily allowance from stake, which resets at 00:00 UTC; 1 DIEM is worth 1 USD.',
    },
  },
})

export const BalanceType = builder.objectRef<Balance>('Balance').implement({
  description: 'What an account has in one currency.',
  fields: (t) => ({
    currency: t.expose('currency', { type: CurrencyType, description: 'The currency.' }),
    balance: t.expose('balanceNanoUsd', { type: 'Usd', description: 'Everything that is there, held or not.' }),
    balanceNanoUsd: t.expose('balanceNanoUsd', { type: 'NanoUsd', description: '`balance` in nano-USD.' }),
    held: t.expose('heldNanoUsd', {
      type: 'Usd',
      description: 'What running requests have set aside at their highest price.',
    }),
    heldNanoUsd: t.expose('heldNanoUsd', { type: 'NanoUsd', description: '`held` in nano-USD.' }),
    free: t.field({
      type: 'Usd',
      description: 'What a new request can spend: `balance` less `held`.',
      resolve: ({ balanceNanoUsd, heldNanoUsd }) => balanceNanoUsd - heldNanoUsd,
    }),
    freeNanoUsd: t.field({
      type: 'NanoUsd',
      description: '`free` in nano-USD.',
      resolve: ({ balanceNanoUsd, heldNanoUsd }) => balanceNanoUsd - heldNanoUsd,
    }),
    resetsAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When what is left expires and the next allowance comes; null for USD, which stays.',
      resolve: ({ currency }, _args, { services }) =>
        currency === 'diem' ? nextUtcMidnight(services.clock.now()) : null,
    }),
  }),
})
