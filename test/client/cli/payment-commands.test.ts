import type { LocalAccount } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliEnv, runCli } from '../../../client/cli/run-cli.ts'
import { OPERATOR_TOKEN } from '../../support/app.ts'
import { FACILITATOR_KEY } from '../../support/base-chain.ts'
import { baseRequirement, createFundedPayer, createPayer, signAuthorization } from '../../support/base-payments.ts'
import { paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'

const facilitator = privateKeyToAddress(FACILITATOR_KEY)

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp({ solana: null, x402: { answerSeconds: 1 } })
})
afterAll(() => app.close())

async function cli(...args: string[]) {
  let stdout = ''
  let stderr = ''
  const env: CliEnv = { serverUrl: app.server.url, operatorToken: OPERATOR_TOKEN, dataDir: '/nonexistent' }
  const code = await runCli(['x402', ...args], env, {
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  })
  return { code, stdout, stderr, json: () => JSON.parse(stdout) as Record<string, unknown> }
}

const signedBy = async (payer: LocalAccount) => paymentHeader(baseRequirement(), await signAuthorization(payer))
/** The status of a payment's answer, as soon as it is not that it is pending. */
const endOf = async (headers: Record<string, string>) => {
  let status = 202
  await expect.poll(async () => (status = (await app.topUp(headers)).status)).not.toBe(202)
  return status
}

test('an operator sees what wallets paid, finishes what hangs, and hears when a chain does not work', async () => {
  expect(await endOf(await signedBy(await createFundedPayer(app.base)))).toBe(200)
  expect(await endOf(await signedBy(createPayer()))).toBe(400)
  const hanging = await signedBy(await createFundedPayer(app.base))
  await app.base.stopMining()
  expect((await app.topUp(hanging)).status).toBe(202)
  expect((await cli('payments', '--state', 'unresolved', '--json')).json()).toMatchObject([
    { state: 'settling', amountUsd: '5', network: 'eip155:8453', accountId: null },
  ])
  expect((await cli('status', '--json')).json()).toMatchObject({
    networks: [{ network: 'eip155:8453', problems: [] }],
    counts: expect.arrayContaining([
      expect.objectContaining({ state: 'credited', payments: 1, amountUsd: '5' }),
      expect.objectContaining({ state: 'refused', payments: 1 }),
    ]),
    unresolved: 1,
  })
  await app.base.resumeMining()
  const reconciled = async () => (await cli('reconcile', '--json')).json()['unresolved']
  await expect.poll(reconciled).toBe(0)
  const listed = await cli('payments', '--limit', '2')
  expect(listed.stdout.trim().split('\n')).toHaveLength(3)
  expect(listed.stdout).toMatch(/credited\s+5/)

  await app.base.client.setBalance({ address: facilitator, value: 1n })
  const starving = await cli('status')
  expect(starving).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/FAILED: the facilitator 0x\w+ has only .* ETH/),
  })
  await app.base.close()
  expect((await cli('status')).stdout).toContain('its node does not respond')
})

test('every state has its metric', async () => {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
  const text = await (await fetch(`${app.server.url}/metrics`, { headers })).text()
  expect(text).toMatch(/sluice_payments_total\{network="eip155:8453",state="credited"\} 2/)
  expect(text).toMatch(/sluice_payments_total\{network="eip155:8453",state="refused"\} 1/)
  expect(text).toContain('sluice_payments_unresolved_oldest_age_seconds')
})
