import type { CallPlan, PlannedCall } from './call-plan.ts'
import { forwardedBytes } from './envelope-scanner.ts'
import type { NodeRouter, RoutedAnswer } from './node-router.ts'
import { readSingleAnswer, type SingleAnswer, type WholeAnswer } from './single-answer.ts'

/** One request outside a batch. */
export interface SingleRequest {
  plan: CallPlan
  call: PlannedCall
  signal: AbortSignal
}

/** Gets the response to a single request, from a node or an equivalent source. */
export interface SingleSender {
  send(request: SingleRequest): Promise<RoutedAnswer<SingleAnswer>>
}

export class NodeSender implements SingleSender {
  readonly #nodes: Pick<NodeRouter, 'send'>

  constructor(nodes: Pick<NodeRouter, 'send'>) {
    this.#nodes = nodes
  }

  send({ plan, call, signal }: SingleRequest): Promise<RoutedAnswer<SingleAnswer>> {
    return this.#nodes.send(
      {
        network: plan.network.slug,
        body: call.item.clean ? plan.body : forwardedBytes(plan.body, call.item),
        write: call.method.write,
        signal,
      },
      (answer) => readSingleAnswer(answer, { notification: call.item.id === null }),
    )
  }
}

/** With longer parameters, building keys costs more than the saved calls. */
const KEY_PARAMS_BYTES_MAX = 65_536

/** Equal for identical requests to the same network; undefined for requests that cannot be shared. */
export function sharingKey({ plan, call }: SingleRequest): string | undefined {
  const { id, params } = call.item
  if (call.method.write || id === null) return undefined
  if (params === null) return `${plan.network.slug} ${call.method.name}`
  if (params.end - params.start > KEY_PARAMS_BYTES_MAX) return undefined
  return `${plan.network.slug} ${call.method.name} ${plan.body.toString('latin1', params.start, params.end)}`
}

/** Another request's response under this request's id; every other byte is the node's. */
export function underIdOf({ plan, call }: SingleRequest, answer: WholeAnswer): WholeAnswer {
  const { id } = call.item
  if (id === null || answer.id === null) return answer
  const own = plan.body.subarray(id.start, id.end)
  if (own.equals(answer.bytes.subarray(answer.id.start, answer.id.end))) return answer
  const before = answer.bytes.subarray(0, answer.id.start)
  const bytes = Buffer.concat([before, own, answer.bytes.subarray(answer.id.end)])
  const range = { start: answer.id.start, end: answer.id.start + own.length }
  return { ...answer, bytes, id: range }
}
