import { ADMIT_HOLDS } from './admit-holds.ts'
import { ADMIT_ONE_HOLD } from './admit-one-hold.ts'
import { EXTEND_HOLD } from './extend-hold.ts'
import { KEY_SPENT_NANO } from './key-spent-nano.ts'
import { LEDGER_INSTANT } from './ledger-instant.ts'
import { SETTLE_AND_ADMIT } from './settle-and-admit.ts'
import { SETTLE_AND_ADMIT_WAITING } from './settle-and-admit-waiting.ts'
import { SETTLE_HOLDS } from './settle-holds.ts'

/** The money rules that the database applies, in the order in which they are installed; `docs/money.md` explains them. */
export const FUNCTIONS: readonly string[] = [
  LEDGER_INSTANT,
  KEY_SPENT_NANO,
  ADMIT_ONE_HOLD,
  ADMIT_HOLDS,
  EXTEND_HOLD,
  SETTLE_HOLDS,
  SETTLE_AND_ADMIT,
  SETTLE_AND_ADMIT_WAITING,
]
