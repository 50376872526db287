// What the SDK gets back for a call: the value of a success, with the model's view of it; for everything else an error that reads to the
// model exactly as Pawl says it.

import type { CallOutcome, Json, ModelPart } from '../../index.ts'
import { attachmentBytes, type AttachmentReader, attachmentText } from '../../tools/convert.ts'
import type { AiModelOutput } from './sdk-types.ts'

/** A call that did not succeed. The SDK makes a `tool-error` part of it, and of that an error result whose text is `String(error)`. */
export class OutcomeError extends Error {
  override readonly name = 'OutcomeError'
  readonly outcome: CallOutcome
  constructor(outcome: CallOutcome) {
    super(plainText(outcome.parts))
    this.outcome = outcome
  }
  /** Without the `Name: ` that errors put in front: the model reads the message and nothing else. */
  override toString(): string {
    return this.message
  }
}

const plainText = (parts: readonly ModelPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : attachmentText(part.attachment.ref))).join('')

/**
 * `toModelOutput` gets a value and has to find what the model should read of it. The parts of objects are kept beside them; those of
 * texts and numbers only if they say something else (a shortened or changed view), and only for a while. A value that came back from outside (a browser's
 * message history) is unknown here and shown as plain JSON: a reference in it is never followed to the bytes.
 */
export class Views {
  readonly #objects = new WeakMap<object, readonly ModelPart[]>()
  readonly #plain = new Map<string, readonly ModelPart[]>()

  keep(callId: string, outcome: CallOutcome & { status: 'success' }): Json {
    const { value, parts } = outcome
    if (typeof value === 'object' && value !== null) this.#objects.set(value, parts)
    else if (plainText(parts) !== textOf(value)) {
      this.#plain.set(`${callId}\0${String(value)}`, parts)
      const oldest = this.#plain.size > 64 ? this.#plain.keys().next().value : undefined
      if (oldest !== undefined) this.#plain.delete(oldest)
    }
    return value
  }

  find(callId: string, value: unknown): readonly ModelPart[] {
    const kept =
      typeof value === 'object' && value !== null
        ? this.#objects.get(value)
        : this.#plain.get(`${callId}\0${String(value)}`)
    if (kept) return kept
    const text = textOf(value)
    return text === '' ? [] : [{ type: 'text', text }]
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'))

const native = /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/

/** VAL-5: text as text; images and PDFs as files if their bytes can be had, everything else by name. */
export async function modelOutput(
  parts: readonly ModelPart[],
  attachments: AttachmentReader | undefined,
): Promise<AiModelOutput> {
  const content = await Promise.all(
    parts.map(async (part) => {
      if (part.type === 'text') return { type: 'text' as const, text: part.text }
      const { mediaType, name } = part.attachment.ref
      const data = native.test(mediaType) ? await attachmentBytes(part.attachment, attachments) : undefined
      if (!data) return { type: 'text' as const, text: attachmentText(part.attachment.ref) }
      return {
        type: 'file' as const,
        mediaType,
        ...(name === undefined ? {} : { filename: name }),
        data: { type: 'data' as const, data },
      }
    }),
  )
  return content.some(({ type }) => type === 'file')
    ? { type: 'content', value: content }
    : { type: 'text', value: plainText(parts) }
}
