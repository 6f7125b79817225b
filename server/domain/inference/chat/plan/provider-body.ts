import type { ModelDefinition } from '../../../catalogue/model-definition.ts'
import { invalidField } from '../../../validation/parse-input.ts'
import { isRecord } from '../openai-wire/completion-text.ts'
import type { ChatMessage } from './chat-message.ts'
import type { ChatRequest } from './chat-request.ts'
import type { ServiceParameters } from './service-parameters.ts'
import { withSystemPrompts } from './system-prompts.ts'
import { toOpenAiTool, toOpenAiToolChoice } from './tool-forms.ts'

/**
 * Request body without `model`, whose name differs between providers. Omitted members are undefined, because deleting a
 * member would make every later access to the object slow.
 */
export type ProviderBody = Record<string, unknown> & { messages: ChatMessage[] }

/** Fields of this service that a provider must not see. */
const OWN_FIELDS = ['model', 'web_search', 'fallbacks', 'anon_user_id'] as const

interface ProviderBodyOptions {
  model: ModelDefinition
  parameters: ServiceParameters
  completionLimit: number | undefined
  systemPrompts: readonly string[]
}

/**
 * Builds the body for the provider: the caller's request without our own fields, with our system prompts and a request
 * for usage. Fails with `invalid_request` if every message is empty.
 */
export function toProviderBody(request: ChatRequest, options: ProviderBodyOptions): ProviderBody {
  const { parameters } = options
  const prompts = parameters.includeSystemPrompt ? options.systemPrompts : []
  const messages = withoutEmptyAssistantTurns(request.messages)
  if (messages.length === 0) {
    throw invalidField('messages', 'must have a message other than assistant messages without content')
  }
  const body: ProviderBody = { ...request, messages: withSystemPrompts(messages, prompts) }
  for (const field of OWN_FIELDS) leaveOut(body, field)
  leaveOut(body, parameters.field)
  applyCompletionLimit(body, options.completionLimit)
  applyReasoning(body, options.model, parameters)
  applyToolForms(body)
  applySchemaForm(body)
  // The charge needs the provider's usage, even if the caller does not ask for it.
  if (request.stream === true) body['stream_options'] = { ...request.stream_options, include_usage: true }
  else leaveOut(body, 'stream_options')
  return body
}

/** Removes empty assistant messages, which some clients send and providers reject. */
function withoutEmptyAssistantTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.filter((message) => {
    if (message.role !== 'assistant') return true
    const { role: _role, content, tool_calls: calls, ...rest } = message
    return content?.length || calls?.length || Object.keys(rest).some((name) => name !== 'name')
  })
}

/** Sets both limit fields to the admitted limit, so that a provider cannot use a larger one. */
function applyCompletionLimit(body: ProviderBody, limit: number | undefined): void {
  for (const field of ['max_completion_tokens', 'max_tokens']) {
    if (body[field] === undefined) continue
    if (limit === undefined) leaveOut(body, field)
    else if (body[field] !== null) body[field] = limit
  }
}

function applyReasoning(body: ProviderBody, model: ModelDefinition, parameters: ServiceParameters): void {
  const { reasoning } = body as { reasoning?: ChatRequest['reasoning'] }
  if (reasoning) {
    const { effort, enabled, summary: _summary, ...others } = reasoning
    if (effort && typeof body['reasoning_effort'] !== 'string') body['reasoning_effort'] = effort
    // Other members are extensions of some provider.
    if (Object.keys(others).length === 0) leaveOut(body, 'reasoning')
    if (enabled === false) disableThinking(body, model)
  }
  if (parameters.disableThinking) disableThinking(body, model)
}

/** Models with an effort setting accept `none`; the chat templates of other models have a switch. */
function disableThinking(body: ProviderBody, { capabilities }: ModelDefinition): void {
  if (capabilities.supportsReasoningEffort) {
    body['reasoning_effort'] = 'none'
    return
  }
  if (!capabilities.supportsReasoning) return
  const given = body['chat_template_kwargs']
  const settings = typeof given === 'object' && given !== null ? given : {}
  body['chat_template_kwargs'] = { ...settings, enable_thinking: false }
}

/** Converts tools to the form that providers expect; some providers reject an empty list. */
function applyToolForms(body: ProviderBody): void {
  const { tools, tool_choice: choice } = body
  if (Array.isArray(tools)) body['tools'] = tools.length === 0 ? undefined : tools.map(toOpenAiTool)
  if (isRecord(choice)) body['tool_choice'] = toOpenAiToolChoice(choice)
}

/** Adds the envelope that providers expect around a schema given directly under `json_schema`. */
function applySchemaForm(body: ProviderBody): void {
  const { response_format: format } = body as { response_format?: ChatRequest['response_format'] }
  if (format?.type !== 'json_schema') return
  const schema = format['json_schema']
  if (typeof schema !== 'object' || schema === null || 'schema' in schema) return
  body['response_format'] = { ...format, json_schema: { name: 'response', schema } }
}

function leaveOut(body: ProviderBody, field: string): void {
  if (body[field] !== undefined) body[field] = undefined
}
