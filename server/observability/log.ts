import { type DestinationStream, pino } from 'pino'
import type { LogLevel } from '../config/env.ts'
import type { Log, LogFields } from '../domain/log.ts'
import { summarizeError, withoutUrls } from './error-summary.ts'

const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'apiKey',
  'adminKey',
  'operatorToken',
  'keyPepper',
  'privateKey',
  '["x-api-key"]',
  '["sign-in-with-x"]',
  '["x-sign-in-with-x"]',
  '["payment-signature"]',
  '["x-402-payment"]',
  '["x-payment"]',
]

const FIELD_DEPTH_MAX = 5

/**
 * JSON lines on standard output. Errors in any field are summarized, URLs are removed from texts, and credentials are
 * removed from fields and nested headers.
 */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: toLogFields },
      redact: { paths: SECRET_FIELDS.flatMap(toPaths), censor: '[redacted]' },
    },
    destination,
  )
  return {
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, fields = {}) => logger.error(fields, message),
  }
}

function toLogFields(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toLogValue(value, FIELD_DEPTH_MAX)]))
}

function toLogValue(value: unknown, depthLeft: number): unknown {
  if (typeof value === 'string') return withoutUrls(value)
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Error) return summarizeError(value)
  if (value instanceof Date || typeof value !== 'object' || value === null) return value
  if (depthLeft === 0) return '[nested]'
  if (Array.isArray(value)) return value.map((item) => toLogValue(item, depthLeft - 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toLogValue(item, depthLeft - 1)]))
}

function toPaths(field: string): string[] {
  const joined = field.startsWith('[') ? field : `.${field}`
  return [field, `*${joined}`, `*.headers${joined}`]
}
