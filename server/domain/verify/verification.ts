export interface VerificationCheck {
  id: CheckId
  description: string
  ok: boolean
  /** Up to ten places where the invariant is broken. */
  violations: string[]
}

export interface Verification {
  ok: boolean
  checks: VerificationCheck[]
}

/** Invariants of the money path. I8, real-time order, needs a client's history and is covered by tests. */
const DESCRIPTIONS = {
  I1: 'every transfer moves an amount between the customer and the ledger account of its kind',
  I2: 'a balance is the sum of its transfers',
  I3: 'no balance is negative, and no held amount exceeds its balance',
  I4: 'the held amount of each account and key is the sum of its open holds',
  I5: 'a request is charged at most once, and not while its hold is open',
  I6: 'a reference is posted only once per account',
  I7: 'each transfer continues the chain: sequences have no gaps, and each balance is the previous one plus the amount',
  I9: 'ledger charges, daily roll-ups, expired events and the lifetime, month and day of each key add up to the same amount',
  I10: 'each credited payment is one top-up of the amount that the chain moved, on the account that it names, and each top-up is one such payment; the same for corrections',
  I11: 'money that moves between accounts leaves one and reaches another',
  I12: 'hours add up to their days, and totals of closed days and hours to their parts, by model, key, line and currency',
  I13: 'each charge belongs to one usage event with the same request, amount, currency and time',
  I14: 'the lines of a usage event add up to its charge, its hold covers the charge, and its day is the day of its admission',
  I15: 'the usage events of a day and hour add up to its roll-ups, by key, model, line and currency',
  I16: "the DIEM granted on a day equals that day's stake",
  I17: 'every account has a USD balance, and every balance has an account',
}
export type CheckId = keyof typeof DESCRIPTIONS

/** One place where an invariant is broken, with the values that differ. */
export interface Violation {
  id: CheckId
  place: string
}

const CHECK_IDS = Object.keys(DESCRIPTIONS).filter(isCheckId)
const VIOLATIONS_MAX = 10

export function isCheckId(id: string): id is CheckId {
  return Object.hasOwn(DESCRIPTIONS, id)
}

/** The result of all checks with the violations found so far, at most ten per check. */
export function toVerification(violations: readonly Violation[], brokenBefore: readonly CheckId[] = []): Verification {
  const places = Map.groupBy(violations, ({ id }) => id)
  const checks = CHECK_IDS.map((id) => {
    const found = [...new Set(places.get(id)?.map(({ place }) => place) ?? [])]
    const ok = found.length === 0 && !brokenBefore.includes(id)
    return { id, description: DESCRIPTIONS[id], ok, violations: found.slice(0, VIOLATIONS_MAX) }
  })
  return { ok: checks.every((check) => check.ok), checks }
}
