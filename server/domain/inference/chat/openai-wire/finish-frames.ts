import { isRecord } from './completion-text.ts'

/** A chunk split into its content and the finish reasons of its choices; an empty part is undefined. */
export interface SplitChunk {
  said: Record<string, unknown> | undefined
  finish: Record<string, unknown> | undefined
}

export function isFinished(choice: unknown): choice is Record<string, unknown> {
  if (!isRecord(choice)) return false
  const { finish_reason: reason } = choice
  return reason !== undefined && reason !== null && reason !== ''
}

/** Separates finish reasons from content, because content must not wait for the charge. */
export function splitFinish(chunk: Record<string, unknown>): SplitChunk {
  const choices: unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : []
  const finished = choices.filter(isFinished)
  if (finished.length === 0) return { said: chunk, finish: undefined }
  const said = choices.flatMap((choice) => {
    if (!isFinished(choice)) return [choice]
    return saysSomething(choice['delta']) ? [{ ...choice, finish_reason: null }] : []
  })
  const ends = finished.map((choice) => (saysSomething(choice['delta']) ? withoutContent(choice) : choice))
  return {
    said: said.length === 0 ? undefined : { ...chunk, choices: said },
    finish: { ...chunk, choices: ends },
  }
}

function saysSomething(delta: unknown): boolean {
  if (!isRecord(delta)) return false
  return Object.entries(delta).some(([name, value]) => {
    if (name === 'role' || value === null || value === '') return false
    return !Array.isArray(value) || value.length > 0
  })
}

function withoutContent(choice: Record<string, unknown>): Record<string, unknown> {
  return { ...choice, delta: {}, ...('logprobs' in choice ? { logprobs: null } : {}) }
}
