import { ADMIT_HOLDS } from './admit-holds.ts'
import { ADMIT_ONE_HOLD } from './admit-one-hold.ts'
import { ASSERT_ROOM } from './assert-room.ts'
import { BEGIN_CLOSING } from './begin-closing.ts'
import { CORRECT_PAYMENT } from './correct-payment.ts'
import { CREDIT_PAYMENT } from './credit-payment.ts'
import { DIEM_STAKE_OF } from './diem-stake-of.ts'
import { EXPIRE_DIEM_REST } from './expire-diem-rest.ts'
import { EXTEND_HOLD } from './extend-hold.ts'
import { FINISH_CLOSING } from './finish-closing.ts'
import { GRANT_DIEM_RISE } from './grant-diem-rise.ts'
import { GRANT_USD } from './grant-usd.ts'
import { KEY_SPENT_NANO } from './key-spent-nano.ts'
import { LEDGER_INSTANT } from './ledger-instant.ts'
import { LINK_WALLET } from './link-wallet.ts'
import { OPEN_WALLET_ACCOUNT } from './open-wallet-account.ts'
import { POST_TRANSFER } from './post-transfer.ts'
import { RECORD_WALLET_STAKE } from './record-wallet-stake.ts'
import { RELEASE_IDEMPOTENCY_BYTES } from './release-idempotency-bytes.ts'
import { IDEMPOTENCY_STEPS, RESERVE_IDEMPOTENCY_BYTES } from './reserve-idempotency-bytes.ts'
import { SETTLE_AND_ADMIT } from './settle-and-admit.ts'
import { SETTLE_HOLDS } from './settle-holds.ts'
import { SETTLE_ONE_HOLD } from './settle-one-hold.ts'
import { START_DIEM_DAY } from './start-diem-day.ts'

/** The rules of money and quotas that the database enforces, in installation order; `docs/money.md` explains them. */
export const FUNCTIONS: readonly string[] = [
  LEDGER_INSTANT,
  KEY_SPENT_NANO,
  ADMIT_ONE_HOLD,
  ADMIT_HOLDS,
  EXTEND_HOLD,
  SETTLE_ONE_HOLD,
  SETTLE_HOLDS,
  SETTLE_AND_ADMIT,
  POST_TRANSFER,
  GRANT_USD,
  DIEM_STAKE_OF,
  START_DIEM_DAY,
  GRANT_DIEM_RISE,
  EXPIRE_DIEM_REST,
  OPEN_WALLET_ACCOUNT,
  LINK_WALLET,
  CREDIT_PAYMENT,
  RECORD_WALLET_STAKE,
  ASSERT_ROOM,
  CORRECT_PAYMENT,
  IDEMPOTENCY_STEPS,
  RESERVE_IDEMPOTENCY_BYTES,
  RELEASE_IDEMPOTENCY_BYTES,
  BEGIN_CLOSING,
  FINISH_CLOSING,
]
