import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliEnv, runCli } from '../../../client/cli/run-cli.ts'
import { OPERATOR_TOKEN } from '../../support/app.ts'
import { baseRequirement, createFundedPayer, signAuthorization } from '../../support/base-payments.ts'
import { paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp({ solana: null })
})
afterAll(() => app.close())

async function cli(...args: string[]) {
  let stdout = ''
  let stderr = ''
  const env: CliEnv = { serverUrl: app.server.url, operatorToken: OPERATOR_TOKEN, dataDir: '/nonexistent' }
  const code = await runCli(args, env, {
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  })
  return { code, stdout, stderr }
}

const correct = (paymentId: string, ...args: string[]) =>
  cli('x402', 'correct', paymentId, '--reason', 'reorganization of block 3', ...args)

test('an operator takes the credit of a transfer back once, and only after the chain lost the transfer', async () => {
  const payer = await createFundedPayer(app.base)
  const before = await app.base.client.snapshot()
  const response = await app.topUp(paymentHeader(baseRequirement(), await signAuthorization(payer)))
  const { data } = (await response.json()) as { data: { paymentId: string } }
  const refused = await correct(data.paymentId)
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('its credit is correct') })

  await app.base.client.revert({ id: before })
  const corrected = await correct(data.paymentId, '--json')
  expect(corrected).toMatchObject({ code: 0, stderr: '' })
  const correction = JSON.parse(corrected.stdout) as { accountId: string }
  expect(correction).toMatchObject({ creditedUsd: '5', correctedUsd: '5', outstandingUsd: '0' })
  expect((await correct(data.paymentId)).stdout).toMatch(/taken back USD\s+5\n/)
  expect(await app.server.balanceNanoUsd(correction.accountId)).toBe(0n)
  expect(await cli('verify')).toMatchObject({ code: 0 })
})

test('a payment that does not exist is not corrected', async () => {
  const unknown = await correct('00000000-0000-7000-8000-000000000000')
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringMatching(/The payment .* does not exist/) })
})
