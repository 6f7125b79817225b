import type { Open } from './open.ts'

/** The service's own options, sent as `<name>_parameters`. */
export interface ServiceParameters {
  character_slug?: string
  strip_thinking_response?: boolean
  disable_thinking?: boolean
  enable_web_search?: Open<'off' | 'on' | 'auto'>
  enable_web_scraping?: boolean
  enable_x_search?: boolean
  enable_web_citations?: boolean
  include_search_results_in_stream?: boolean
  return_search_results_as_documents?: boolean
  [parameter: string]: unknown
}

export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string; detail?: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: string } }
  | { type: 'video_url'; video_url: { url: string } }
  | { type: 'file'; file: { file_data: string; filename?: string } }

export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

export type ChatMessage =
  | { role: 'system' | 'developer'; content: string | ContentPart[]; name?: string }
  | { role: 'user'; content: string | ContentPart[]; name?: string }
  | { role: 'assistant'; content?: string | ContentPart[] | null; tool_calls?: ToolCall[]; name?: string }
  | { role: 'tool'; content: string | ContentPart[]; tool_call_id: string }

export interface Tool {
  type: Open<'function'>
  function?: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null }
}

/** Request of `POST /chat/completions`. Fields that are not listed here are sent too. */
export interface ChatCompletionRequest {
  /** A model's id, trait or alias; a suffix such as `:enable_web_search=on` sets service parameters. */
  model: string
  messages: ChatMessage[]
  stream?: boolean | null
  max_completion_tokens?: number | null
  max_tokens?: number | null
  temperature?: number | null
  top_p?: number | null
  n?: number | null
  seed?: number | null
  stop?: string | string[] | null
  frequency_penalty?: number | null
  presence_penalty?: number | null
  logprobs?: boolean | null
  top_logprobs?: number | null
  reasoning_effort?: Open<'none' | 'minimal' | 'low' | 'medium' | 'high'> | null
  response_format?:
    | { type: 'text' }
    | { type: 'json_object' }
    | { type: 'json_schema'; json_schema: Record<string, unknown> }
  tools?: Tool[] | null
  tool_choice?: Open<'none' | 'auto' | 'required'> | { type: 'function'; function: { name: string } }
  parallel_tool_calls?: boolean
  prompt_cache_key?: string
  user?: string
  service_parameters?: ServiceParameters
  [field: string]: unknown
}

export type FinishReason = Open<'stop' | 'length' | 'tool_calls' | 'content_filter'>

export interface TokenUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details?: { cached_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
}

interface ChatAnswer {
  id: string
  /** Unix seconds. */
  created: number
  /** Id of the model, whatever name the request used. */
  model: string
}

export interface ChatCompletion extends ChatAnswer {
  object: 'chat.completion'
  choices: {
    index: number
    message: {
      role: 'assistant'
      content: string | null
      reasoning_content?: string | null
      tool_calls?: ToolCall[] | null
    }
    finish_reason: FinishReason
    logprobs: unknown
  }[]
  usage: TokenUsage
  /** JSON numbers; `response.cost` has exact strings. */
  cost: { usd: number; diem: number }
}

export interface ChatCompletionChunk extends ChatAnswer {
  object: 'chat.completion.chunk'
  /** Empty in the last chunk, which contains `usage` and `cost`. */
  choices: {
    index: number
    delta: {
      role?: 'assistant'
      content?: string | null
      reasoning_content?: string | null
      tool_calls?: { index: number; id?: string; type?: string; function?: { name?: string; arguments?: string } }[]
    }
    finish_reason: FinishReason | null
    logprobs?: unknown
  }[]
  usage?: TokenUsage | null
  cost?: { usd: number; diem: number }
}
