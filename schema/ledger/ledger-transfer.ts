import type { LedgerTransfer, LedgerTransferKind } from '../../server/domain/ledger/ledger.ts'
import { AccountType } from '../account/account.ts'
import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'

/** One line per kind, so that a new kind does not compile until it is described. */
const KINDS: Record<Uppercase<LedgerTransferKind>, { value: LedgerTransferKind; description: string }> = {
  GRANT: { value: 'grant', description: 'Granted by the operator.' },
  CORRECTION: { value: 'correction', description: 'Taken back by the operator.' },
  CHARGE: { value: 'charge', description: 'The price of a request.' },
  TOP_UP: { value: 'top_up', description: 'Paid in by a wallet.' },
  REFUND: { value: 'refund', description: 'Refund of the price of a request.' },
  DIEM_ALLOWANCE: { value: 'diem_allowance', description: 'The DIEM allowance of a new day.' },
  DIEM_EXPIRY: { value: 'diem_expiry', description: 'Unspent DIEM of a day.' },
  TRANSFER: { value: 'transfer', description: 'Moved from a wallet to the account that it was linked to.' },
}

const LedgerTransferKindType = builder.enumType('LedgerTransferKind', {
  description: 'The reason for a transfer.',
  values: KINDS,
})

export const LedgerTransferType = builder.objectRef<LedgerTransfer>('LedgerTransfer').implement({
  description: "One transfer of the account's append-only ledger.",
  fields: (t) => ({
    transferId: t.exposeID('id', { description: 'Id of the transfer.' }),
    kind: t.expose('kind', { type: LedgerTransferKindType, description: 'The reason for a transfer.' }),
    currency: t.expose('currency', { type: CurrencyType, description: 'The currency of the transfer.' }),
    amount: t.expose('amountNanoUsd', {
      type: 'Usd',
      description: 'Positive for money into the account, negative for money out of it.',
    }),
    amountNanoUsd: t.expose('amountNanoUsd', { type: 'NanoUsd', description: '`amount` in nano-USD.' }),
    balanceAfter: t.expose('balanceAfterNanoUsd', {
      type: 'Usd',
      description: 'The balance in this currency after the transfer.',
    }),
    balanceAfterNanoUsd: t.expose('balanceAfterNanoUsd', {
      type: 'NanoUsd',
      description: '`balanceAfter` in nano-USD.',
    }),
    requestId: t.exposeString('requestId', {
      nullable: true,
      description: 'Id of the charged request, as in its response header `CF-RAY`.',
    }),
    reference: t.exposeString('reference', {
      nullable: true,
      description: 'Reference that prevents a grant or top-up from being posted twice.',
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'The reason given by the operator.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the transfer was posted.' }),
  }),
})

const LedgerTransferConnection = builder.connectionObject(
  { type: LedgerTransferType, name: 'LedgerTransferConnection', description: 'A page of ledger transfers.' },
  { name: 'LedgerTransferEdge', description: 'A ledger transfer with its cursor.' },
)

builder.objectField(AccountType, 'ledger', (t) =>
  t.field({
    type: LedgerTransferConnection,
    description: 'All ledger transfers in both currencies, newest first.',
    nullable: true,
    authScopes: { owner: true },
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async ({ id }, page, { services }) =>
      toConnection(await services.money.ledger.listTransfers(id, page), page.after),
  }),
)
