import { ADMIT_HOLDS } from './admit-holds.ts'
import { ADMIT_ONE_HOLD } from './admit-one-hold.ts'
import { BEGIN_CLOSING } from './begin-closing.ts'
import { EXCHANGE_HOLDS } from './exchange-holds.ts'
import { EXTEND_HOLD } from './extend-hold.ts'
import { FINISH_CLOSING } from './finish-closing.ts'
import { KEY_SPENT_NANO } from './key-spent-nano.ts'
import { LEDGER_INSTANT } from './ledger-instant.ts'
import { SETTLE_HOLDS } from './settle-holds.ts'

/** The money rules that the database applies, in the order in which they are installed; `docs/money.md` explains them. */
export const FUNCTIONS: readonly string[] = [
  LEDGER_INSTANT,
  KEY_SPENT_NANO,
  ADMIT_ONE_HOLD,
  ADMIT_HOLDS,
  EXTEND_HOLD,
  SETTLE_HOLDS,
  EXCHANGE_HOLDS,
  BEGIN_CLOSING,
  FINISH_CLOSING,
]
