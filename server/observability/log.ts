import { type DestinationStream, pino } from 'pino'
import type { LogLevel } from '../config/env.ts'
import type { Log } from '../domain/log.ts'

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

/** JSON lines on standard output. Credentials are cut out of fields and of headers below them. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap(toPaths), censor: '[redacted]' },
      serializers: { error: pino.stdSerializers.err },
    },
    destination,
  )
  return {
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, fields = {}) => logger.error(fields, message),
  }
}

function toPaths(field: string): string[] {
  const joined = field.startsWith('[') ? field : `.${field}`
  return [field, `*${joined}`, `*.headers${joined}`]
}
