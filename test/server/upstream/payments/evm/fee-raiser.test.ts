import type { Hash, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEvmClient } from '../../../../../server/upstream/chain/evm-client.ts'
import { FeeRaiser } from '../../../../../server/upstream/payments/evm/fee-raiser.ts'
import { GasAccount } from '../../../../../server/upstream/payments/evm/gas-account.ts'
import { TransactionSender } from '../../../../../server/upstream/payments/evm/transaction-sender.ts'
import {
  type BaseChain,
  FACILITATOR_KEY,
  MERCHANT_ADDRESS,
  startBaseChain,
  USDC_ADDRESS,
} from '../../../../support/base-chain.ts'
import { createFundedPayer, signAuthorization, transferCall } from '../../../../support/base-payments.ts'
import { TEST_GAS_LIMITS } from '../../../../support/evm-settings.ts'
import { createFakeClock, type FakeClock } from '../../../../support/fake-clock.ts'
import { createRecordingLog } from '../../../../support/recording-log.ts'

const MINUTE_MS = 60_000
const PAID = 5_000_000n

let chain: BaseChain
let clock: FakeClock
beforeEach(async () => {
  chain = await startBaseChain()
  clock = createFakeClock()
  await chain.stopMining()
})
afterEach(() => chain.close())

/** The key of one process. */
function useKey() {
  const client = createEvmClient(chain.url)
  const account = new GasAccount({ client, account: privateKeyToAccount(FACILITATOR_KEY), chainId: 8_453 })
  const sender = new TransactionSender({ client, account, clock, limits: TEST_GAS_LIMITS })
  return { sender, raiser: new FeeRaiser({ client, account, clock, log: createRecordingLog(), ...TEST_GAS_LIMITS }) }
}

/** A transfer whose transaction waits, and every transaction that was told for it. */
async function sendTransfer({ sender }: ReturnType<typeof useKey>) {
  const told: Hash[] = []
  const onTransaction = async (hash: string) => void told.push(hash as Hash)
  const data: Hex = transferCall(await signAuthorization(await createFundedPayer(chain)))
  await sender.send({ to: USDC_ADDRESS, data }, onTransaction)
  return { told, onTransaction }
}

const paid = () => chain.balanceOf(MERCHANT_ADDRESS)
const isKnown = async ([hash = '0x']: Hash[]) =>
  (await chain.client.getTransaction({ hash }).catch(() => null)) !== null
const isMined = async (hash: Hash) =>
  (await chain.client.getTransaction({ hash }).catch(() => null))?.blockNumber != null

describe('a transaction that waits because fees rose', () => {
  it('is replaced under its nonce by one with a higher fee, and the chain includes one of them', async () => {
    const key = useKey()
    const { told, onTransaction } = await sendTransfer(key)
    await chain.raiseBaseFee('500')
    expect(await paid()).toBe(0n)
    await key.raiser.raise(told, onTransaction)
    expect(told).toHaveLength(2)
    await chain.client.mine({ blocks: 1 })
    expect([await paid(), await Promise.all(told.map(isMined))]).toEqual([PAID, [false, true]])
  })

  it('is left unchanged while its offer is good, and once it is in a block', async () => {
    const key = useKey()
    const { told, onTransaction } = await sendTransfer(key)
    await key.raiser.raise(told, onTransaction)
    await chain.client.mine({ blocks: 1 })
    await chain.raiseBaseFee('500')
    await key.raiser.raise(told, onTransaction)
    expect(told).toHaveLength(1)
  })

  it('gets one replacement of two processes that raise it at once', async () => {
    const [one, other] = [useKey(), useKey()]
    const { told, onTransaction } = await sendTransfer(one)
    await chain.raiseBaseFee('500')
    const before = [...told]
    await Promise.all([one.raiser.raise(before, onTransaction), other.raiser.raise(before, onTransaction)])
    expect(new Set(told).size).toBe(2)
    await chain.client.mine({ blocks: 1 })
    expect(await paid()).toBe(PAID)
  })

  it('is raised again as often as fees rise again', async () => {
    const key = useKey()
    const { told, onTransaction } = await sendTransfer(key)
    for (const gwei of ['100', '1000', '5000']) {
      await chain.raiseBaseFee(gwei)
      await key.raiser.raise(told, onTransaction)
    }
    expect(told).toHaveLength(4)
    await chain.client.mine({ blocks: 1 })
    expect(await paid()).toBe(PAID)
  })

  it('is not sent if the replacement could not be stored first', async () => {
    const key = useKey()
    const { told } = await sendTransfer(key)
    await chain.raiseBaseFee('500')
    const lost = () => Promise.reject(new Error('the database is away'))
    await expect(key.raiser.raise(told, lost)).rejects.toThrow('database')
    await chain.client.mine({ blocks: 1 })
    expect(await paid()).toBe(0n)
  })
})

describe('a transaction that nobody raises', () => {
  it('gives way to an empty one after a while, so that those behind it go on', async () => {
    const key = useKey()
    const forgotten = await sendTransfer(key)
    await chain.raiseBaseFee('500')
    const { told, onTransaction } = await sendTransfer(key)
    await key.raiser.raise(told, onTransaction)
    clock.advance(MINUTE_MS)
    await key.raiser.raise(told, onTransaction)
    expect(await isKnown(forgotten.told)).toBe(true)
    clock.advance(MINUTE_MS)
    await key.raiser.raise(told, onTransaction)
    expect(await isKnown(forgotten.told)).toBe(false)
    await chain.client.mine({ blocks: 1 })
    expect([await paid(), told.length]).toEqual([PAID, 1])
  })
})
