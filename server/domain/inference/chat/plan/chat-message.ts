import { z } from 'zod'
import { boundedList } from '../../../validation/bounded-list.ts'
import { safeParseDescribed } from '../../../validation/described.ts'

/** Limit per message, because validating each part takes time. */
const PARTS_MAX = 1_024
const TOOL_CALLS_MAX = 512

/** Required field of each known type of content part, besides `type`; unknown types pass through. */
const PART_FIELDS: Readonly<Record<string, string>> = {
  text: 'text',
  image_url: 'image_url',
  input_audio: 'input_audio',
  video_url: 'video_url',
  file: 'file',
}

const UrlPart = z.union([z.string().min(1), z.looseObject({ url: z.string().min(1) })], {
  error: 'must be an object with a url',
})

const ContentPart = z
  .looseObject({
    type: z.string(),
    text: z.string().optional(),
    image_url: UrlPart.optional(),
    video_url: UrlPart.optional(),
    input_audio: z.looseObject({ data: z.string().min(1) }).optional(),
    file: z.looseObject({}).optional(),
    cache_control: z.looseObject({ type: z.string() }).nullish(),
  })
  .superRefine((part, context) => {
    const field = PART_FIELDS[part.type]
    if (field !== undefined && part[field] === undefined) {
      context.addIssue({ code: 'custom', path: [field], message: `a part of the type ${part.type} requires ${field}` })
    }
  })

const Parts = boundedList(ContentPart, PARTS_MAX)

/** Replaces a union, whose error would say only that nothing matches. */
const Content = z
  .union([z.string(), z.array(z.unknown())], { error: 'must be a string or a list of content parts' })
  .transform((content, context) => {
    if (typeof content === 'string') return content
    const parsed = safeParseDescribed(Parts, content)
    if (parsed.success) return parsed.data
    context.issues.push(...parsed.error.issues.map((issue) => ({ ...issue, input: content }) as z.core.$ZodRawIssue))
    return z.NEVER
  })

/** Roles whose messages need content; an assistant message may contain only tool calls. */
const CONTENT_ROLES = new Set(['user', 'system', 'developer', 'tool'])

export const ChatMessage = z
  .looseObject({
    role: z.string().min(1),
    content: Content.nullish(),
    name: z.string().nullish(),
    tool_calls: boundedList(z.looseObject({}), TOOL_CALLS_MAX).nullish(),
    tool_call_id: z.string().nullish(),
  })
  .superRefine((message, context) => {
    const { role, content } = message
    const isEmptyList = Array.isArray(content) && content.length === 0 && role !== 'tool'
    if (CONTENT_ROLES.has(role) && (content === undefined || content === null || isEmptyList)) {
      context.addIssue({
        code: 'custom',
        path: ['content'],
        message: `a message with the role ${role} requires content`,
      })
    }
    if (role === 'tool' && typeof message.tool_call_id !== 'string') {
      context.addIssue({ code: 'custom', path: ['tool_call_id'], message: 'a message with the role tool requires it' })
    }
  })
export type ChatMessage = z.output<typeof ChatMessage>
