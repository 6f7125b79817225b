import type { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { type Abi, encodeFunctionData, type Hash, type VerifyTypedDataParameters } from 'viem'
import type { EvmClient } from './evm-chain.ts'
import { MaybeSentError, type OnTransaction } from './gas-account.ts'
import type { TransactionSender } from './transaction-sender.ts'
import { isUnanswered, observing } from './unanswered.ts'

type FacilitatorSigner = ConstructorParameters<typeof ExactEvmScheme>[0]

const RECEIPT_WAIT_MS = 30_000

/** What happened during one operation that the facilitator's own answer does not tell. */
export interface Observed {
  /** The node gave no answer, so that a refusal says nothing about the payment. */
  unanswered: unknown
  /** A transaction may have been sent though the sending failed. */
  maybeSent: boolean
}

export interface Sending {
  sender: TransactionSender
  onTransaction: OnTransaction
}

/** The hands of x402's facilitator for one operation: reads of our node, and with `sending` transactions of our key. */
export function createSigner(client: EvmClient, sending?: Sending): { signer: FacilitatorSigner; observed: Observed } {
  const observed: Observed = { unanswered: undefined, maybeSent: false }
  const reader = observing(client, (error) => {
    observed.unanswered = error
  })
  const send = async (call: { to: `0x${string}`; data: `0x${string}` }): Promise<Hash> => {
    if (sending === undefined) throw new Error('there is no key to send transactions with')
    try {
      return await sending.sender.send(call, sending.onTransaction)
    } catch (error) {
      if (error instanceof MaybeSentError) observed.maybeSent = true
      if (isUnanswered(error)) observed.unanswered = error
      throw error
    }
  }
  const signer: FacilitatorSigner = {
    getAddresses: () => (sending === undefined ? [] : [sending.sender.address]),
    readContract: (call) => reader.readContract({ ...call, abi: call.abi as Abi }),
    verifyTypedData: (data) => reader.verifyTypedData(data as VerifyTypedDataParameters),
    getCode: ({ address }) => reader.getCode({ address }),
    writeContract: ({ address, abi, functionName, args }) =>
      send({ to: address, data: encodeFunctionData({ abi: abi as Abi, functionName, args }) }),
    sendTransaction: send,
    waitForTransactionReceipt: async ({ hash }) => {
      const { status, logs } = await client.waitForTransactionReceipt({ hash, timeout: RECEIPT_WAIT_MS })
      return { status, logs }
    },
  }
  return { signer, observed }
}
