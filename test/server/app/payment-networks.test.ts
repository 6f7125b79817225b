import { expect, test } from 'vitest'
import { createPaymentNetworks } from '../../../server/app/create-payment-networks.ts'
import { ConfigFile } from '../../../server/config/file/schema.ts'
import { systemClock } from '../../../server/domain/clock.ts'
import { createRecordingLog } from '../../support/recording-log.ts'

const surroundings = { clock: systemClock, log: createRecordingLog(), wait: () => Promise.resolve() }
const facilitator = { kind: 'remote', url: 'https://facilitator.example.com' } as const
const create = (x402: Record<string, unknown>) => createPaymentNetworks(ConfigFile.parse({ x402 }).x402, surroundings)

test('every wrong setting of both chains is named before anything starts', async () => {
  const rpcUrl = 'https://node.example.com'
  const wrong = create({
    base: { payTo: 'me', rpcUrl, facilitator },
    solana: { payTo: 'you', rpcUrl, facilitator },
  })
  await expect(wrong).rejects.toMatchObject({
    name: 'ConfigError',
    problems: [expect.stringContaining('x402.base.payTo'), expect.stringContaining('x402.solana.payTo')],
  })
})

test('a chain that is not configured is not offered', async () => {
  expect(await create({})).toEqual([])
})
