import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { SubscriberJob, SubscriberReport } from './subscribers.ts'

/** The child process of `subscribers.ts`, so the clients' memory never counts as a server's. */
const OPENING_AT_ONCE = 3
const QUERY = 'subscription { usageRecorded { requests { requestId sku outcome chargeNanoUsd } cursor } }'

/** Request id and instant of each delivery, in the order of arrival. */
let deliveries: SubscriberReport['deliveries'] = []

function receive(text: string): boolean {
  const receivedAtMs = performance.timeOrigin + performance.now()
  const message = JSON.parse(text)
  if (message.type !== 'next') throw new Error(`${message.type} in place of an event: ${text.slice(0, 400)}`)
  const { requests } = message.payload.data.usageRecorded
  for (const { requestId } of requests) deliveries.push({ requestId, receivedAtMs })
  return requests.length === 0
}

async function openSocket(url: string, key: string): Promise<void> {
  const socket = new WebSocket(url, 'graphql-transport-ws', { perMessageDeflate: false })
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }))
  await once(socket, 'message')
  const begun = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      if (receive(data.toString())) resolve()
    })
  })
  socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query: QUERY } }))
  await begun
  socket.on('close', (code) => {
    throw new Error(`a subscriber's socket was closed with ${code}`)
  })
}

async function open({ url, keys, socketsPerKey }: SubscriberJob): Promise<void> {
  const waiting = keys.flatMap((key) => Array.from({ length: socketsPerKey }, () => key))
  const worker = async (): Promise<void> => {
    for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) await openSocket(url, key)
  }
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, worker))
}

process.on('message', async (message: { open: SubscriberJob } | { report: true }) => {
  if ('open' in message) {
    await open(message.open)
    process.send?.({ deliveries: [] } satisfies SubscriberReport)
    return
  }
  process.send?.({ deliveries } satisfies SubscriberReport)
  deliveries = []
})
process.on('disconnect', () => process.exit())
