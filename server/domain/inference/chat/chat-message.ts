import { z } from 'zod'

/** Kinds of content parts, and the field that each must have beside `type`; other kinds pass through. */
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
      context.addIssue({ code: 'custom', path: [field], message: `a part of the type ${part.type} needs ${field}` })
    }
  })

/** Roles whose messages say nothing without content; an assistant may answer with tool calls alone. */
const CONTENT_ROLES = new Set(['user', 'system', 'developer', 'tool'])

export const ChatMessage = z
  .looseObject({
    role: z.string().min(1),
    content: z.union([z.string(), z.array(ContentPart)], { error: (issue) => contentProblem(issue.input) }).nullish(),
    name: z.string().nullish(),
    tool_calls: z.array(z.looseObject({})).nullish(),
    tool_call_id: z.string().nullish(),
  })
  .superRefine((message, context) => {
    const { role, content } = message
    const isEmptyList = Array.isArray(content) && content.length === 0 && role !== 'tool'
    if (CONTENT_ROLES.has(role) && (content === undefined || content === null || isEmptyList)) {
      context.addIssue({ code: 'custom', path: ['content'], message: `a message of the role ${role} needs content` })
    }
    if (role === 'tool' && typeof message.tool_call_id !== 'string') {
      context.addIssue({ code: 'custom', path: ['tool_call_id'], message: 'a message of the role tool needs it' })
    }
  })
export type ChatMessage = z.output<typeof ChatMessage>

/** A union says only that nothing fits; the caller wants to know which part is wrong. */
function contentProblem(content: unknown): string {
  if (!Array.isArray(content)) return 'must be a string or a list of content parts'
  const index = content.findIndex((part) => !ContentPart.safeParse(part).success)
  const issue = ContentPart.safeParse(content[index]).error?.issues[0]
  const path = [index, ...(issue?.path ?? [])].map(String).join('.')
  return `${path}: ${issue?.message ?? 'is no content part'}`
}
