import { createHash } from 'node:crypto'
import {
  type ChatRequest,
  functionTools,
  lastUserText,
  refusesReasoning,
  type Tool,
  textOf,
  wantsReasoning,
} from './chat-request.ts'
import { type Magic, removeMagic } from './magic.ts'
import { sampleSchema } from './schema-sample.ts'
import type { Tokenizer } from './tokenizer.ts'

const MAX_ECHO_CHARACTERS = 400
const MAX_WORDS = 100_000

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

export interface ToolCall {
  id: string
  name: string
  arguments: string
}

/** One choice of a response, before it is encoded as JSON or as a stream. */
export interface Choice {
  reasoning: string
  content: string | null
  toolCalls: ToolCall[]
  finishReason: FinishReason
  reasoningTokens: number
  completionTokens: number
}

interface Draft {
  reasoning: string
  content: string
  toolCalls: ToolCall[]
}

/** The choices of the sandbox's response; the same request gets the same response. */
export function answerChat(request: ChatRequest, magic: Magic, tokenizer: Tokenizer): Choice[] {
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY
  return Array.from({ length: request.n ?? 1 }, (_, index) => {
    const draft = draftChoice(request, magic, index)
    const choice = limitTokens(draft, maxTokens, tokenizer)
    return magic.has('content:violation') ? { ...choice, finishReason: 'content_filter' as const } : choice
  })
}

function draftChoice(request: ChatRequest, magic: Magic, index: number): Draft {
  const inTags = magic.has('think-tags') && !refusesReasoning(request)
  const reasoning = wantsReasoning(request) && !inTags ? reason(request) : ''
  const toolCalls = callTools(request, index)
  if (toolCalls.length > 0) return { reasoning, content: '', toolCalls }
  const content = cutAtStop(write(request, magic, index), request.stop)
  return { reasoning, content: inTags ? `<think>${reason(request)}</think>\n\n${content}` : content, toolCalls }
}

function reason(request: ChatRequest): string {
  return `[sandbox] Thinking about ${request.messages.length} messages: no model runs here, so the answer repeats the question.`
}

function write(request: ChatRequest, magic: Magic, index: number): string {
  const json = writeJson(request)
  if (json !== undefined) return json
  const words = Number(magic.value('words') ?? 0)
  if (words > 0) return `[sandbox]${' word'.repeat(Math.min(words, MAX_WORDS))}`
  const choice = index === 0 ? '' : ` (choice ${index + 1})`
  const last = request.messages.at(-1)
  if (last?.role === 'tool')
    return `[sandbox]${choice} The tool answered: ${textOf(last).slice(0, MAX_ECHO_CHARACTERS)}`
  const question = removeMagic(lastUserText(request)).slice(0, MAX_ECHO_CHARACTERS)
  return `[sandbox]${choice} You said: ${JSON.stringify(question)}. This is a test answer of ${request.model}; no model runs behind it.`
}

/** Servers take the schema inside `json_schema.schema`; some clients put it straight under `json_schema`. */
function writeJson({ response_format: format }: ChatRequest): string | undefined {
  if (format?.type === 'json_object') return JSON.stringify({ sandbox: true, message: '[sandbox] test answer' })
  if (format?.type !== 'json_schema') return undefined
  return JSON.stringify(sampleSchema(format.json_schema?.['schema'] ?? format.json_schema))
}

function cutAtStop(text: string, stop: ChatRequest['stop']): string {
  const marks = typeof stop === 'string' ? [stop] : (stop ?? [])
  const ends = marks.filter((mark) => mark !== '').map((mark) => text.indexOf(mark))
  return text.slice(0, Math.min(text.length, ...ends.filter((end) => end >= 0)))
}

function callTools(request: ChatRequest, index: number): ToolCall[] {
  return chosenTools(request).map(({ function: tool }, position) => ({
    id: `call_${digest([request.messages, tool.name, index, position]).slice(0, 24)}`,
    name: tool.name,
    arguments: JSON.stringify(sampleSchema(tool.parameters ?? { type: 'object' })),
  }))
}

/** A tool result is followed by a text, never by another call, so agent loops end. */
function chosenTools(request: ChatRequest): Tool[] {
  const tools = functionTools(request)
  const { tool_choice: choice } = request
  if (tools.length === 0 || choice === 'none' || request.messages.at(-1)?.role === 'tool') return []
  if (typeof choice === 'object' && choice !== null) {
    return tools.filter((tool) => tool.function.name === choice.function.name).slice(0, 1)
  }
  const question = lastUserText(request)
  const named = tools.filter((tool) => question.includes(tool.function.name))
  const called = named.length === 0 && choice === 'required' ? tools.slice(0, 1) : named
  return request.parallel_tool_calls === false ? called.slice(0, 1) : called
}

/** Reasoning, text and tool calls share one token limit, as on real servers. */
function limitTokens(draft: Draft, maxTokens: number, tokenizer: Tokenizer): Choice {
  const reasoning = tokenizer.cut(draft.reasoning, maxTokens)
  const content = tokenizer.cut(draft.content, maxTokens - reasoning.tokens)
  let tokens = reasoning.tokens + content.tokens
  let isCut = reasoning.isCut || content.isCut
  const toolCalls: ToolCall[] = []
  for (const call of draft.toolCalls) {
    const text = tokenizer.cut(call.arguments, maxTokens - tokens)
    tokens += text.tokens
    isCut ||= text.isCut
    toolCalls.push({ ...call, arguments: text.text })
    if (isCut) break
  }
  return {
    reasoning: reasoning.text,
    content: toolCalls.length > 0 ? null : content.text,
    toolCalls,
    finishReason: isCut ? 'length' : toolCalls.length > 0 ? 'tool_calls' : 'stop',
    reasoningTokens: reasoning.tokens,
    completionTokens: tokens,
  }
}

export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
