import { DomainError } from '../errors.ts'
import type { Envelope, EnvelopeItem } from './envelope-scanner.ts'
import { type MethodTable, quotedMethod, type RpcMethod } from './method-table.ts'
import type { RpcNetwork } from './networks.ts'
import { creditsOf } from './rpc-pricing.ts'

export interface PlannedCall {
  item: EnvelopeItem
  method: RpcMethod
  /** Price unless the node returns an error. */
  credits: number
}

export interface CallPlan {
  network: RpcNetwork
  body: Buffer
  batch: boolean
  calls: PlannedCall[]
  credits: number
}

export interface ScannedBody {
  body: Buffer
  envelope: Envelope
}

/**
 * Validates and prices a body before anything is spent. Fails with `invalid_request`: one unsupported method rejects the
 * whole batch, and the message lists each one with the reason.
 */
export function planCalls({ body, envelope }: ScannedBody, network: RpcNetwork, methods: MethodTable): CallPlan {
  const calls: PlannedCall[] = []
  const refused = new Map<string, string>()
  let credits = 0
  for (const item of envelope.items) {
    const verdict = methods.find(network.family, item.method)
    if (verdict.method === null) {
      refused.set(item.method, verdict.reason)
      continue
    }
    const call = { item, method: verdict.method, credits: creditsOf(network.baseCredits, verdict.method.tier) }
    credits += call.credits
    calls.push(call)
  }
  if (refused.size > 0) throw refusal(refused, network, envelope)
  return { network, body, batch: envelope.batch, calls, credits }
}

function refusal(refused: ReadonlyMap<string, string>, network: RpcNetwork, envelope: Envelope): DomainError {
  const list = [...refused].map(([name, reason]) => `${quotedMethod(name)} (${reason})`).join(', ')
  const subject = refused.size === 1 ? 'this method is' : 'these methods are'
  const consequence = envelope.batch ? '; nothing of the batch was executed' : ''
  const message = `On ${network.slug} ${subject} not supported: ${list}${consequence}`
  return new DomainError('invalid_request', message, {
    field: 'method',
    details: {
      _errors: [],
      method: { _errors: [...refused].map(([name, reason]) => `${quotedMethod(name)}: ${reason}`) },
    },
  })
}
