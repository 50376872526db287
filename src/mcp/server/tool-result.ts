// The result of tools/call from the outcome of a call.

import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import { containsAttachment } from '../../core/tool-value.ts'
import type { Attachment, CallOutcome, ModelPart, Session, Tool } from '../../index.ts'
import { attachmentBytes, attachmentText } from '../../tools/convert-tool-formats.ts'

/** Content blocks of a result; later parts are left out. */
const maxParts = 100
/** Bytes of the files in a result; files beyond are only named. */
const maxFileBytes = 8 * 1024 * 1024

export const textResult = (text: string, isError = false): CallToolResult => ({
  content: [{ type: 'text', text }],
  ...(isError ? { isError } : {}),
})

export async function resultOf(
  session: Session,
  tool: Tool | undefined,
  outcome: CallOutcome,
): Promise<CallToolResult> {
  const content = await contentOf(session, outcome.parts)
  if (outcome.status !== 'success') return { content, isError: true }
  const structured = tool && hasObjectOutput(tool) ? await structuredOf(session, outcome) : undefined
  return { content, ...(structured ? { structuredContent: structured } : {}) }
}

/** Only objects can be structured content in every revision. */
export const hasObjectOutput = ({ output }: Tool): boolean => output?.json.type === 'object'

async function structuredOf(
  session: Session,
  outcome: CallOutcome & { readonly status: 'success' },
): Promise<Record<string, unknown> | undefined> {
  const { value, reveals } = outcome
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const plain = containsAttachment(value) ? (JSON.parse(JSON.stringify(value)) as typeof value) : value
  // A value that a tool reveals on purpose is for the model, and only for it.
  return reveals ? plain : session.redact(plain)
}

async function contentOf(session: Session, parts: readonly ModelPart[]): Promise<ContentBlock[]> {
  const content: ContentBlock[] = []
  let left = maxFileBytes
  for (const part of parts.slice(0, maxParts)) {
    if (part.type === 'text') content.push(part)
    else {
      const fits = part.attachment.ref.bytes <= left
      const block = fits ? await fileBlock(session, part.attachment) : undefined
      if (block) left -= part.attachment.ref.bytes
      content.push(block ?? { type: 'text', text: attachmentText(part.attachment.ref) })
    }
  }
  if (parts.length > maxParts)
    content.push({ type: 'text', text: `[${parts.length - maxParts} further parts are left out]` })
  return content
}

async function fileBlock(session: Session, attachment: Attachment): Promise<ContentBlock | undefined> {
  const bytes = await attachmentBytes(attachment, session.attachments)
  if (!bytes) return undefined
  const { mediaType, id } = attachment.ref
  const data = Buffer.from(bytes).toString('base64')
  if (mediaType.startsWith('image/')) return { type: 'image', data, mimeType: mediaType }
  if (mediaType.startsWith('audio/')) return { type: 'audio', data, mimeType: mediaType }
  return { type: 'resource', resource: { uri: `pawl://attachments/${id}`, mimeType: mediaType, blob: data } }
}
