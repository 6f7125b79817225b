import { expect, test } from 'vitest'
import {
  cleanUpstreamMessage,
  readUpstreamError,
} from '../../../../../server/domain/inference/providers/upstream-message.ts'

test.each([
  ['POST https://gpu-7.internal:8443/v1/chat failed', /gpu-7|8443|internal/],
  ['connect ECONNREFUSED 10.1.2.3:8000', /10\.1|8000/],
  ['connect to [fd00::1]:8000 failed', /fd00|8000/],
  ['worker gpu-7:8000 died', /gpu-7:8000/],
  ['host api.provider.com is down', /provider\.com/],
  ['key sk-proj-abc_DEF-0123456789 is invalid', /sk-proj|0123456789/],
  ['sent Authorization: Bearer abc.def.ghi', /abc\.def/],
  ['api_key=0123abcd was refused', /0123abcd/],
  ['file /home/user/server.py not found', /home|server\.py/],
  ['failed\nTraceback (most recent call last)\n  File "x.py"', /Traceback|x\.py/],
  ['token 0123456789abcdef0123456789abcdef01', /0123456789abcdef/],
])('takes the secret out of %j', (raw, secret) => {
  const cleaned = cleanUpstreamMessage(raw) ?? ''
  expect(cleaned).not.toMatch(secret)
  expect(cleaned).not.toBe('')
})

test.each([
  "Invalid value for 'messages[0].content': expected a string.",
  'response_format.json_schema.name must match ^[a-z]+$',
  'temperature must be between 0 and 2, got 2.5 (see messages.0.role)',
  'The model meta-llama/Llama-3.3-70B-Instruct-Turbo does not exist',
])('leaves %j unchanged', (raw) => {
  expect(cleanUpstreamMessage(raw)).toBe(raw)
})

test('cuts at 500 characters and joins lines', () => {
  expect(cleanUpstreamMessage('long '.repeat(10_000))).toHaveLength(500)
  expect(cleanUpstreamMessage('a\r\n\tb\u0000c')).toBe('a b c')
  expect(cleanUpstreamMessage(' \n ')).toBeUndefined()
})

test.each([
  ['{"error":{"message":"m","code":"c"}}', { message: 'm', code: 'c' }],
  ['{"error":{"message":"m","code":400,"type":"t"}}', { message: 'm', code: undefined }],
  ['{"error":"m"}', { message: 'm', code: undefined }],
  ['{"message":"m","code":"c"}', { message: 'm', code: 'c' }],
  ['{"detail":"m"}', { message: 'm', code: undefined }],
  ['{"detail":[{"msg":"a"},{"msg":"b"}]}', { message: 'a; b', code: undefined }],
  ['<html>', { message: undefined, code: undefined }],
  ['{"error":{"message":7}}', { message: undefined, code: undefined }],
])('reads %s', (body, expected) => {
  expect(readUpstreamError(body)).toEqual(expected)
})
