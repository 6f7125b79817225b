import { nextUtcMidnight } from '../../server/domain/clock.ts'
import type { Balance } from '../../server/domain/ledger/ledger.ts'
import { builder } from '../builder.ts'

export const CurrencyType = builder.enumType('Currency', {
  description: 'The currency that pays for a request.',
  values: {
    USD: { value: 'usd', description: 'Prepaid balance.' },
    DIEM: {
      value: 'diem',
      description: 'Daily allowance from stake, which resets at 00:00 UTC; 1 DIEM is worth 1 USD.',
    },
  },
})

export const BalanceType = builder.objectRef<Balance>('Balance').implement({
  description: 'The balance of an account in one currency.',
  fields: (t) => ({
    currency: t.expose('currency', { type: CurrencyType, description: 'The currency.' }),
    balance: t.expose('balanceNanoUsd', { type: 'Usd', description: 'The whole balance, including the held part.' }),
    balanceNanoUsd: t.expose('balanceNanoUsd', { type: 'NanoUsd', description: '`balance` in nano-USD.' }),
    held: t.expose('heldNanoUsd', {
      type: 'Usd',
      description: 'The amount held by running requests, each at its worst-case price.',
    }),
    heldNanoUsd: t.expose('heldNanoUsd', { type: 'NanoUsd', description: '`held` in nano-USD.' }),
    free: t.field({
      type: 'Usd',
      description: 'The amount that a new request can spend: `balance` minus `held`.',
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
      description: 'When the rest expires and the next allowance is granted; null for USD, which never expires.',
      resolve: ({ currency }, _args, { services }) =>
        currency === 'diem' ? nextUtcMidnight(services.clock.now()) : null,
    }),
  }),
})
