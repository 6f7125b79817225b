import type { LedgerTransfer, LedgerTransferKind } from '../../server/domain/ledger/ledger.ts'
import { AccountType } from '../account/account.ts'
import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'

/** One line per kind, so that a new kind does not compile until it is described. */
const KINDS: Record<Uppercase<LedgerTransferKind>, { value: LedgerTransferKind; description: string }> = {
  GRANT: { value: 'grant', description: 'Given by the operator.' },
  CORRECTION: { value: 'correction', description: 'Taken back by the operator.' },
  CHARGE: { value: 'charge', description: 'The price of a request.' },
  TOP_UP: { value: 'top_up', description: 'Paid in by a wallet.' },
  REFUND: { value: 'refund', description: 'The price of a request, given back.' },
  DIEM_ALLOWANCE: { value: 'diem_allowance', description: 'The DIEM of a new day.' },
  DIEM_EXPIRY: { value: 'diem_expiry', description: 'DIEM that a day left unspent.' },
  TRANSFER: { value: 'transfer', description: 'Moved from a wallet to the account that it was linked to.' },
}

const LedgerTransferKindType = builder.enumType('LedgerTransferKind', {
  description: 'Why money moved.',
  values: KINDS,
})

export const LedgerTransferType = builder.objectRef<LedgerTransfer>('LedgerTransfer').implement({
  description: "One posting of the account's ledger, which is only ever added to.",
  fields: (t) => ({
    transferId: t.exposeID('id', { description: 'Id of the posting.' }),
    kind: t.expose('kind', { type: LedgerTransferKindType, description: 'Why money moved.' }),
    currency: t.expose('currency', { type: CurrencyType, description: 'The currency that moved.' }),
    amount: t.expose('amountNanoUsd', { type: 'Usd', description: 'Positive into the account, negative out of it.' }),
    amountNanoUsd: t.expose('amountNanoUsd', { type: 'NanoUsd', description: '`amount` in nano-USD.' }),
    balanceAfter: t.expose('balanceAfterNanoUsd', {
      type: 'Usd',
      description: 'The balance of that currency right after.',
    }),
    balanceAfterNanoUsd: t.expose('balanceAfterNanoUsd', {
      type: 'NanoUsd',
      description: '`balanceAfter` in nano-USD.',
    }),
    requestId: t.exposeString('requestId', {
      nullable: true,
      description: 'The request that was charged, as its response header `CF-RAY` named it.',
    }),
    reference: t.exposeString('reference', {
      nullable: true,
      description: 'What makes a grant or a top-up post only once.',
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'What the operator wrote about it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was posted.' }),
  }),
})

const LedgerTransferConnection = builder.connectionObject(
  { type: LedgerTransferType, name: 'LedgerTransferConnection', description: 'A page of ledger postings.' },
  { name: 'LedgerTransferEdge', description: 'A ledger posting with its cursor.' },
)

builder.objectField(AccountType, 'ledger', (t) =>
  t.field({
    type: LedgerTransferConnection,
    description: 'Every posting of both currencies, newest first.',
    nullable: true,
    authScopes: { owner: true },
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async ({ id }, page, { services }) =>
      toConnection(await services.money.ledger.listTransfers(id, page), page.after),
  }),
)
