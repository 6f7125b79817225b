import type { Answer } from './request.ts'

/** Clients that send one request after another until `requests` were sent; the answers in the order of their end. */
export async function runTraffic(
  { requests, clients }: { requests: number; clients: number },
  sendOne: (index: number) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let next = 0
  const client = async (): Promise<void> => {
    while (next < requests) answers.push(await sendOne(next++))
  }
  await Promise.all(Array.from({ length: clients }, client))
  return answers
}
