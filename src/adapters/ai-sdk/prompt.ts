// A conversation in the words of the AI SDK's provider interface.

import { hash } from 'node:crypto'
import type { AssistantPart, Attachment, Json, ModelPart, ModelRequest, ResultPart } from '../../index.ts'
import { attachmentBytes, attachmentText, filesNotice } from '../../tools/convert.ts'

type Meta = { providerOptions?: Record<string, Record<string, never>> }
type AiText = { type: 'text'; text: string } & Meta
type AiFile = { type: 'file'; mediaType: string; filename?: string; data: { type: 'data'; data: Uint8Array } }
type AiSaid =
  | AiText
  | ({ type: 'reasoning'; text: string } & Meta)
  | ({ type: 'tool-call'; toolCallId: string; toolName: string; input: unknown } & Meta)
type AiResult = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text' | 'error-text'; value: string } | { type: 'content'; value: (AiText | AiFile)[] }
}

export type AiPromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: (AiText | AiFile)[] }
  | { role: 'assistant'; content: AiSaid[] }
  | { role: 'tool'; content: AiResult[] }

/** How a provider is to be told. */
export interface PromptTerms {
  read(attachment: Attachment): Promise<Uint8Array>
  /** Which files it can read at all. */
  reads(mediaType: string): boolean
  /** Whether it reads them in results of tools; else they follow the results, in a message that is marked as nobody's. */
  readonly filesInResults: boolean
  /** Which ids of calls it takes; null: any. */
  readonly ids: { readonly shape: RegExp; readonly most: number } | null
}

export async function promptOf(
  { instructions, messages }: ModelRequest,
  terms: PromptTerms,
): Promise<AiPromptMessage[]> {
  // Providers refuse a text without a word.
  const prompt: AiPromptMessage[] =
    (instructions ?? '').trim() === '' ? [] : [{ role: 'system', content: instructions as string }]
  const idOf = terms.ids ? idsOf(terms.ids) : (id: string) => id
  for (const message of messages) {
    switch (message.role) {
      case 'user':
        users(prompt, await contentOf(message.parts, terms))
        break
      case 'assistant':
        prompt.push({ role: 'assistant', content: message.parts.map((part) => saidOf(part, idOf)) })
        break
      case 'tool': {
        const results = await Promise.all(message.results.map((result) => resultOf(result, idOf, terms)))
        prompt.push({ role: 'tool', content: results.map(({ result }) => result) })
        users(prompt, attached(results.flatMap(({ files }) => files)))
        break
      }
      default:
        throw new Error(`Unknown role: ${JSON.stringify(message satisfies never)}`)
    }
  }
  return prompt
}

/** Users and models take turns: what comes after a message of the user's side is a part of it. */
function users(prompt: AiPromptMessage[], content: (AiText | AiFile)[]): void {
  const last = prompt.at(-1)
  if (content.length === 0) return
  if (last?.role === 'user') last.content.push(...content)
  else prompt.push({ role: 'user', content })
}

const attached = (files: AiFile[]): (AiText | AiFile)[] =>
  files.length === 0 ? [] : [{ type: 'text', text: filesNotice(files.length) }, ...files]

const metaOf = (meta: Json | undefined): Meta =>
  typeof meta === 'object' && meta !== null && !Array.isArray(meta)
    ? { providerOptions: meta as Record<string, Record<string, never>> }
    : {}

type IdOf = (id: string) => string

/** The same id for a call and its result; no two calls have one. */
function idsOf({ shape, most }: NonNullable<PromptTerms['ids']>): IdOf {
  const given = new Map<string, string>()
  const taken = new Set<string>()
  return (id) => {
    const before = given.get(id)
    if (before !== undefined) return before
    let name = shape.test(id) ? id : id.replaceAll(/[^\w-]/g, '_')
    for (let count = 1; taken.has(name) || !shape.test(name); count++)
      name = hash('sha256', `${id} ${count}`, 'hex').slice(0, most)
    given.set(id, name)
    taken.add(name)
    return name
  }
}

function saidOf(part: AssistantPart, idOf: IdOf): AiSaid {
  if (part.type !== 'call') return { type: part.type, text: part.text, ...metaOf(part.meta) }
  return {
    type: 'tool-call',
    toolCallId: idOf(part.id),
    toolName: part.name,
    input: inputOf(part.input),
    ...metaOf(part.meta),
  }
}

/** What was no JSON was refused, and its result says so; a provider takes objects alone. */
function inputOf(text: string): unknown {
  try {
    const input: unknown = text.trim() === '' ? {} : JSON.parse(text)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { input }
  } catch {
    return { invalid: text }
  }
}

/** A result, and the files of it that go besides. */
async function resultOf(
  { callId, name, status, parts }: ResultPart,
  idOf: IdOf,
  terms: PromptTerms,
): Promise<{ result: AiResult; files: AiFile[] }> {
  const about = { type: 'tool-result' as const, toolCallId: idOf(callId), toolName: name }
  const content = await contentOf(parts, terms)
  const files = content.filter((part) => part.type === 'file')
  if (files.length > 0 && terms.filesInResults)
    return { result: { ...about, output: { type: 'content', value: content } }, files: [] }
  const value = parts.map((part) => (part.type === 'text' ? part.text : attachmentText(part.attachment.ref))).join('')
  return { result: { ...about, output: { type: status === 'failure' ? 'error-text' : 'text', value } }, files }
}

async function contentOf(parts: readonly ModelPart[], { read, reads }: PromptTerms): Promise<(AiText | AiFile)[]> {
  const content = await Promise.all(
    parts.map(async (part): Promise<AiText | AiFile> => {
      if (part.type === 'text') return { type: 'text', text: part.text }
      const { mediaType, name } = part.attachment.ref
      // Base64 never enters the text (VAL-5): who cannot read it is told that it is there.
      const data = reads(mediaType) ? await attachmentBytes(part.attachment, { read }) : undefined
      if (!data) return { type: 'text', text: attachmentText(part.attachment.ref) }
      return {
        type: 'file',
        mediaType,
        ...(name === undefined ? {} : { filename: name }),
        data: { type: 'data', data },
      }
    }),
  )
  const joined: (AiText | AiFile)[] = []
  for (const part of content) {
    const last = joined.at(-1)
    if (part.type === 'text' && last?.type === 'text')
      joined[joined.length - 1] = { type: 'text', text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}
