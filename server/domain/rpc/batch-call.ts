import type { AnswerItem } from './answer-reader.ts'
import { matchAnswers } from './batch-answers.ts'
import type { CallPlan, PlannedCall } from './call-plan.ts'
import { forwardedBytes } from './envelope-scanner.ts'
import type { RoutedAnswer } from './node-router.ts'
import type { RpcBodyReader } from './rpc-body-reader.ts'
import type { NodeAnswer } from './rpc-node.ts'
import { RPC_ERROR_CREDITS } from './rpc-pricing.ts'
import { isSuccess, joined } from './single-answer.ts'

/** A batch response is held in memory as a whole; geth stops at 25 MB. */
export const BATCH_ANSWER_BYTES_MAX = 33_554_432

export interface BatchPart {
  calls: readonly PlannedCall[]
  bytes: Buffer
}

/** The outcome of one call: its response bytes (none for a notification) and its price. */
export interface CallOutcome {
  bytes: Buffer | null
  credits: number
  failed: boolean
}

export interface PartOutcome {
  outcomes: CallOutcome[]
  /** The node's bytes, if they match the part item by item in order. */
  verbatim: Buffer | null
}

/** Splits a batch into requests that the network's nodes accept; a clean batch that fits is sent byte for byte. */
export function splitBatch({ body, calls }: CallPlan, itemsMax: number): BatchPart[] {
  if (calls.length <= itemsMax && itemsMax > 1 && calls.every(({ item }) => item.clean)) return [{ calls, bytes: body }]
  const parts: BatchPart[] = []
  for (let start = 0; start < calls.length; start += itemsMax) {
    const slice = calls.slice(start, start + itemsMax)
    const items = slice.map(({ item }) => forwardedBytes(body, item))
    const [only] = items
    parts.push({ calls: slice, bytes: itemsMax === 1 && only !== undefined ? only : jsonArray(items) })
  }
  return parts
}

function jsonArray(items: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [Buffer.from('[')]
  for (const [index, item] of items.entries()) {
    if (index > 0) parts.push(Buffer.from(','))
    parts.push(item)
  }
  parts.push(Buffer.from(']'))
  return Buffer.concat(parts)
}

interface PartReading {
  part: BatchPart
  body: Buffer
  budget: { bytes: number }
  bodies: Pick<RpcBodyReader, 'readAnswer'>
}

/** Reads a node's response to a part; undefined if no item is usable. */
export async function readPartAnswer(
  answer: NodeAnswer,
  { part, body, budget, bodies }: PartReading,
): Promise<PartOutcome | undefined> {
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body) {
    budget.bytes -= chunk.length
    if (budget.bytes < 0) return undefined
    chunks.push(chunk)
  }
  const received = joined(chunks)
  const isSilent = part.calls.every(({ item }) => item.id === null)
  if (received.length === 0) return isSilent && isSuccess(answer.status) ? { ...noAnswers(part, body) } : undefined
  const { raw: bytes, answer: read } = await bodies.readAnswer(received)
  if (read === undefined) return undefined
  if (read.shape === 'batch') {
    if (!isSuccess(answer.status)) return undefined
    return isSilent ? noAnswers(part, body) : fromItems(read.items, { part, body, bytes })
  }
  if (read.item.kind === 'error') return expandError(read.item, { part, body, bytes })
  return isSuccess(answer.status) ? fromItems([read.item], { part, body, bytes }) : undefined
}

/** The outcome of a part without a response: an error item for every call that expects one. */
export function noAnswers({ calls }: BatchPart, body: Buffer): PartOutcome {
  return { outcomes: calls.map((call) => missingOutcome(call, body)), verbatim: null }
}

interface Context {
  part: BatchPart
  /** The client's body, for raw ids. */
  body: Buffer
  bytes: Buffer
}

function fromItems(items: readonly AnswerItem[], { part, body, bytes }: Context): PartOutcome | undefined {
  const answers = items.filter((item) => item.kind !== null)
  if (answers.length === 0) return undefined
  const expecting = part.calls.filter(({ item }) => item.id !== null)
  const matches = matchAnswers(
    expecting.map(({ item }) => (item.id === null ? null : body.toString('utf8', item.id.start, item.id.end))),
    answers.map(({ id }) => (id === null ? null : bytes.toString('utf8', id.start, id.end))),
  )
  let nth = 0
  const outcomes = part.calls.map((call): CallOutcome => {
    if (call.item.id === null) return { bytes: null, credits: call.credits, failed: false }
    const answer = answers[matches[nth++] ?? -1]
    if (answer === undefined) return missingOutcome(call, body)
    const failed = answer.kind === 'error'
    const { start, end } = answer.range
    return { bytes: bytes.subarray(start, end), credits: failed ? RPC_ERROR_CREDITS : call.credits, failed }
  })
  const inOrder = items.length === expecting.length && matches.every((position, index) => position === index)
  return { outcomes, verbatim: inOrder ? bytes : null }
}

/** Repeats one error object for every request of the part, under the client's ids. */
function expandError(item: AnswerItem, { part, body, bytes }: Context): PartOutcome {
  const expecting = part.calls.filter((call) => call.item.id !== null)
  const error = item.error === null ? Buffer.from('null') : bytes.subarray(item.error.start, item.error.end)
  const outcomes = part.calls.map((call): CallOutcome => {
    if (call.item.id === null) return { bytes: null, credits: call.credits, failed: false }
    const isOnly = expecting.length === 1
    const own = isOnly ? bytes.subarray(item.range.start, item.range.end) : errorAnswer(call, { body, error })
    return { bytes: own, credits: RPC_ERROR_CREDITS, failed: true }
  })
  return { outcomes, verbatim: null }
}

const NO_ANSWER = Buffer.from('{"code":-32603,"message":"The node returned no response to this request"}')

function missingOutcome(call: PlannedCall, body: Buffer): CallOutcome {
  if (call.item.id === null) return { bytes: null, credits: call.credits, failed: false }
  return { bytes: errorAnswer(call, { body, error: NO_ANSWER }), credits: RPC_ERROR_CREDITS, failed: true }
}

function errorAnswer({ item }: PlannedCall, { body, error }: { body: Buffer; error: Buffer }): Buffer {
  const id = item.id === null ? 'null' : body.toString('utf8', item.id.start, item.id.end)
  return Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":`), error, Buffer.from('}')])
}

/** The response to the client: the node's bytes if there is one part in order, otherwise the items in request order. */
export function joinParts(parts: readonly PartOutcome[]): Buffer {
  const [only] = parts
  if (parts.length === 1 && only?.verbatim) return only.verbatim
  const items = parts.flatMap((part) => part.outcomes.flatMap(({ bytes }) => (bytes === null ? [] : [bytes])))
  return items.length === 0 ? Buffer.alloc(0) : jsonArray(items)
}

/**
 * Sends the parts, a few at a time, or one after another if order matters to the chain; the responses keep the order of
 * the parts.
 */
export async function sendParts(
  parts: readonly BatchPart[],
  { parallel, send }: { parallel: number; send: (part: BatchPart) => Promise<RoutedAnswer<PartOutcome>> },
): Promise<PromiseSettledResult<RoutedAnswer<PartOutcome>>[]> {
  const results: PromiseSettledResult<RoutedAnswer<PartOutcome>>[] = []
  const queue = parts.entries()
  const work = async (): Promise<void> => {
    for (const [index, part] of queue) {
      const [result] = await Promise.allSettled([send(part)])
      results[index] = result
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, parts.length) }, work))
  return results
}
