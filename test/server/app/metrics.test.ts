import { expect, test } from 'vitest'
import { OPERATOR_TOKEN, startTestApp } from '../../support/app.ts'

test('metrics require the operator token, and count the losses of the rate store', async () => {
  await using server = await startTestApp()
  expect((await fetch(`${server.url}/metrics`)).status).toBe(401)
  const wrong = await fetch(`${server.url}/metrics`, { headers: { authorization: 'Bearer guessed' } })
  expect(wrong.status).toBe(401)
  const response = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } })
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('sluice_rate_store_losses_total 0')
})
