import { GraphQLError, Kind, type ValueNode } from 'graphql'
import { formatUsd, parseUsd } from '../server/domain/money.ts'
import { builder } from './builder.ts'

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/
const INTEGER = /^-?\d{1,30}$/

builder.scalarType('Usd', {
  description:
    'An exact amount of money as a decimal string with up to 9 decimals, such as `"1.2345"`. 1 DIEM is worth 1 USD and has the same format.',
  serialize: (amount) => formatUsd(amount),
  parseValue: (value) => toUsd(value),
  // A number in the document is read from its text, so no digit is lost.
  parseLiteral: (node) => toUsd(literalText(node)),
})

builder.scalarType('NanoUsd', {
  description:
    'The same amount as an integer number of nano-USD (a billionth of a USD), as a string: `"1234500000"` is 1.2345 USD.',
  serialize: (amount) => amount.toString(),
  parseValue: (value) => toNanoUsd(value),
  parseLiteral: (node) => toNanoUsd(literalText(node)),
})

builder.scalarType('DateTime', {
  description: 'A time in ISO 8601, such as `"2026-01-31T12:00:00.000Z"`; always in UTC in responses.',
  serialize: (instant) => instant.toISOString(),
  parseValue: (value) => toDate(value),
})

builder.scalarType('Date', {
  description: 'A day in ISO 8601, such as `"2026-01-31"`; in UTC unless a time zone is given.',
  // The domain decides which days exist, because its error names the field.
  parseValue: (value) => toText(value, 'Date', 'a day in ISO 8601, such as "2026-01-31"'),
})

builder.scalarType('Decimal', {
  description: 'An exact number as a decimal string, such as `"1234.5"`.',
  parseValue: (value) => toText(value, 'Decimal', 'a decimal string, such as "1234.5"'),
})

builder.scalarType('Count', {
  description: 'A count as a JSON number, which may be larger than `Int` allows; exact up to 2^53.',
  parseValue: (value) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    throw badValue('Count', 'a whole number that is not negative')
  },
})

function toUsd(value: unknown): bigint {
  const amount = isDecimal(value) ? parseUsd(value) : undefined
  if (amount === undefined) throw badValue('Usd', 'a decimal string with at most 9 decimals, such as "1.25"')
  return amount
}

function toNanoUsd(value: unknown): bigint {
  const text = isDecimal(value) ? String(value) : ''
  if (!INTEGER.test(text)) throw badValue('NanoUsd', 'an integer as a string, such as "1250000000"')
  return BigInt(text)
}

function toDate(value: unknown): Date {
  const [text, day] = typeof value === 'string' ? (DATE_TIME.exec(value) ?? []) : []
  const instant = text === undefined ? undefined : new Date(text)
  if (instant === undefined || Number.isNaN(instant.getTime()) || !isDay(day)) {
    throw badValue('DateTime', 'a time in ISO 8601 with its zone, such as "2026-01-31T12:00:00Z"')
  }
  return instant
}

function toText(value: unknown, scalar: string, expected: string): string {
  if (typeof value === 'string') return value
  throw badValue(scalar, expected)
}

/** JavaScript reads 30 February as 2 March, so a day must survive the round trip. */
function isDay(day: string | undefined): boolean {
  return day !== undefined && new Date(day).toISOString().startsWith(day)
}

/** Longer texts are not amounts, and parsing them as numbers would cost time. */
function isDecimal(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= 40)
}

function literalText(node: ValueNode): unknown {
  return node.kind === Kind.STRING || node.kind === Kind.INT || node.kind === Kind.FLOAT ? node.value : undefined
}

function badValue(scalar: string, expected: string): GraphQLError {
  return new GraphQLError(`${scalar} must be ${expected}`, { extensions: { code: 'BAD_USER_INPUT' } })
}
