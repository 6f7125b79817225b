import type { ModelDefinition } from '../../../catalogue/model-definition.ts'
import { invalidField } from '../../../validation/parse-input.ts'
import type { ChatRequest } from './chat-request.ts'

const PARTS_PER_MESSAGE_MAX: Readonly<Record<string, number>> = {
  image_url: 10,
  input_audio: 5,
  video_url: 3,
  file: 5,
}
const VIDEOS_PER_REQUEST_MAX = 3

const PART_CAPABILITIES: Readonly<Record<string, { capability: keyof ModelDefinition['capabilities']; what: string }>> =
  {
    image_url: { capability: 'supportsVision', what: 'images' },
    input_audio: { capability: 'supportsAudioInput', what: 'audio' },
    video_url: { capability: 'supportsVideoInput', what: 'video' },
  }

/** Fails with `invalid_request` that names the field if the model does not support it. */
export function assertCapabilities(model: ModelDefinition, request: ChatRequest): void {
  assertTools(model, request)
  assertParts(model, request)
  const { capabilities } = model
  const { response_format: format, logprobs, top_logprobs: topLogprobs } = request
  if (format && format.type !== 'text' && !capabilities.supportsResponseSchema) {
    throw notSupported(model, 'response_format', 'response formats other than text')
  }
  if ((logprobs === true || (topLogprobs ?? 0) > 0) && !capabilities.supportsLogProbs) {
    throw notSupported(model, logprobs === true ? 'logprobs' : 'top_logprobs', 'log probabilities')
  }
}

function assertTools(model: ModelDefinition, { tools }: ChatRequest): void {
  if (!tools || tools.length === 0) return
  for (const [index, { type }] of tools.entries()) {
    if (type !== 'web_search' && type !== 'x_search') continue
    throw invalidField(`tools.${index}.type`, `this server has no ${type}; omit the tool`)
  }
  if (!model.capabilities.supportsFunctionCalling) throw notSupported(model, 'tools', 'function calling')
}

function assertParts(model: ModelDefinition, { messages }: ChatRequest): void {
  const total: Record<string, number> = {}
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    const counts: Record<string, number> = {}
    for (const { type } of content) counts[type] = (counts[type] ?? 0) + 1
    for (const [type, count] of Object.entries(counts)) {
      const field = `messages.${index}.content`
      const gate = PART_CAPABILITIES[type]
      if (gate !== undefined && model.capabilities[gate.capability] !== true)
        throw notSupported(model, field, gate.what)
      const max = PARTS_PER_MESSAGE_MAX[type]
      if (max !== undefined && count > max) {
        throw invalidField(field, `has ${count} parts of the type ${type}; the maximum per message is ${max}`)
      }
      total[type] = (total[type] ?? 0) + count
    }
  }
  if ((total['video_url'] ?? 0) > VIDEOS_PER_REQUEST_MAX) {
    throw invalidField(
      'messages',
      `have ${total['video_url']} videos; the maximum per request is ${VIDEOS_PER_REQUEST_MAX}`,
    )
  }
  if ((total['image_url'] ?? 0) > 1 && !model.capabilities.supportsMultipleImages) {
    throw invalidField('messages', `have ${total['image_url']} images; the model ${model.id} accepts one per request`)
  }
}

function notSupported(model: ModelDefinition, field: string, what: string) {
  return invalidField(field, `the model ${model.id} does not support ${what}; GET /models shows what each model can do`)
}
