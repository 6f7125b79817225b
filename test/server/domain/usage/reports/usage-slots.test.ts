import { describe, expect, it } from 'vitest'
import type { UsageTimeUnit } from '../../../../../server/domain/usage/reports/usage.ts'
import { cutIntoSlots } from '../../../../../server/domain/usage/reports/usage-slots.ts'
import { isTimeZone, ZoneCalendar } from '../../../../../server/domain/usage/reports/zone-calendar.ts'

const HOUR_MS = 3_600_000
const QUARTER_MS = 900_000

function slotsOf(timeZone: string, unit: UsageTimeUnit | null, from: string, to = from) {
  const { slots, boundsMs } = cutIntoSlots({ from, to }, unit, new ZoneCalendar(timeZone))
  return slots.map(({ day, startsAt }, index) => ({
    day,
    startsAt: startsAt.toISOString().slice(0, 16),
    hours: ((boundsMs[index + 1] ?? 0) - (boundsMs[index] ?? 0)) / HOUR_MS,
  }))
}

describe('slots of time', () => {
  it.each([
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00', 23],
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00', 25],
    ['America/New_York', '2026-11-01', '2026-11-01T04:00', 25],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00', 24.5],
    ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30', 23.5],
    ['Asia/Kathmandu', '2026-06-01', '2026-05-31T18:15', 24],
    // Midnight does not exist: the day begins at one o'clock.
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00', 23],
    // Eleven o'clock in the evening comes twice, the next day once.
    ['Africa/Cairo', '2026-10-29', '2026-10-28T21:00', 25],
    ['Africa/Cairo', '2026-10-30', '2026-10-29T22:00', 24],
    // Midnight comes twice: the day begins with the first.
    ['America/Havana', '2026-11-01', '2026-11-01T04:00', 25],
  ])('follow the zone: in %s the day %s begins at %s and has %d hours', (timeZone, day, startsAt, hours) => {
    expect(slotsOf(timeZone, 'day', day)).toEqual([{ day, startsAt, hours }])
    const ofHours = slotsOf(timeZone, 'hour', day)
    expect(ofHours[0]?.startsAt).toBe(startsAt)
    expect(ofHours.reduce((sum, slot) => sum + slot.hours, 0)).toBe(hours)
    expect(ofHours.every((slot) => slot.day === day && slot.hours <= 1)).toBe(true)
  })

  it('do not exist for a day that a zone skipped', () => {
    expect(slotsOf('Pacific/Apia', 'day', '2011-12-29', '2011-12-31').map(({ day }) => day)).toEqual([
      '2011-12-29',
      '2011-12-31',
    ])
  })

  it('begin on Monday for weeks and on the first for months; at the edges they contain only the days of the report', () => {
    expect(slotsOf('Europe/Berlin', 'week', '2026-03-25', '2026-04-01')).toEqual([
      { day: '2026-03-23', startsAt: '2026-03-22T23:00', hours: 5 * 24 - 1 },
      { day: '2026-03-30', startsAt: '2026-03-29T22:00', hours: 3 * 24 },
    ])
    expect(slotsOf('Europe/Berlin', 'month', '2026-03-25', '2026-04-01')).toEqual([
      { day: '2026-03-01', startsAt: '2026-02-28T23:00', hours: 7 * 24 - 1 },
      { day: '2026-04-01', startsAt: '2026-03-31T22:00', hours: 24 },
    ])
  })

  it.each([...Intl.supportedValuesOf('timeZone'), 'UTC'])(
    'in %s follow one another at quarters of an hour',
    (timeZone) => {
      expect(isTimeZone(timeZone)).toBe(true)
      for (const unit of [null, 'hour', 'day', 'week', 'month'] as const) {
        const { boundsMs } = cutIntoSlots({ from: '2026-02-01', to: '2026-05-01' }, unit, new ZoneCalendar(timeZone))
        expect(boundsMs.every((atMs, index) => index === 0 || atMs > (boundsMs[index - 1] ?? 0))).toBe(true)
        expect(boundsMs.every((atMs) => atMs % QUARTER_MS === 0)).toBe(true)
      }
    },
  )
})

describe('a time zone', () => {
  it.each(['UTC', 'Etc/GMT+5', 'america/new_york', 'Asia/Calcutta'])('may be %s', (name) => {
    expect(isTimeZone(name)).toBe(true)
  })

  it.each(['', ' ', '+05:30', '-0800', 'Mars/Olympus', 'Europe/Berlin ', 'a'.repeat(1_000), "UTC' --", 'UTC\0'])(
    'may not be %j',
    (name) => {
      expect(isTimeZone(name)).toBe(false)
    },
  )
})
