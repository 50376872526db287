// Converts outcomes for the SDK: the value of a success together with the model's view of it, and an error with Pawl's
// exact text for everything else.

import type { CallOutcome, Json, ModelPart, OpenCall } from '../../index.ts'
import { attachmentBytes, type AttachmentReader, attachmentText, providerId } from '../../tools/convert-tool-formats.ts'
import type { AiModelOutput } from './sdk-types.ts'

/** A call that did not succeed. The SDK turns it into a `tool-error` part and sends `String(error)` to the model. */
export class OutcomeError extends Error {
  override readonly name = 'OutcomeError'
  /** How the call ended. */
  readonly outcome: CallOutcome
  constructor(outcome: CallOutcome) {
    super(plainText(outcome.parts))
    this.outcome = outcome
  }
  /** Without the `Name: ` prefix of errors: the model reads only the message. */
  override toString(): string {
    return this.message
  }
}

const plainText = (parts: readonly ModelPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : attachmentText(part.attachment.ref))).join('')

/**
 * Finds the model's view of a value for `toModelOutput`. Views of objects are stored by identity. Views of strings and
 * numbers are stored only if they differ from the value (shortened or changed), and only the newest 64. A value that
 * came from outside, such as a browser's message history, is unknown and sent as plain JSON; attachment references in
 * it are never resolved to bytes.
 */
export class ModelViews {
  readonly #objects = new WeakMap<object, readonly ModelPart[]>()
  readonly #plain = new Map<string, readonly ModelPart[]>()

  remember(callId: string, outcome: CallOutcome & { status: 'success' }): Json {
    const { value, parts } = outcome
    if (typeof value === 'object' && value !== null) this.#objects.set(value, parts)
    else if (plainText(parts) !== textOf(value)) {
      this.#plain.set(`${callId}\0${String(value)}`, parts)
      const oldest = this.#plain.size > 64 ? this.#plain.keys().next().value : undefined
      if (oldest !== undefined) this.#plain.delete(oldest)
    }
    return value
  }

  /** The SDK got `copy` instead of the equal `value`: the model reads the same of both. */
  alias(copy: unknown, value: unknown): void {
    const parts = typeof value === 'object' && value !== null ? this.#objects.get(value) : undefined
    if (parts && typeof copy === 'object' && copy !== null) this.#objects.set(copy, parts)
  }

  find(callId: string, value: unknown): readonly ModelPart[] {
    const known =
      typeof value === 'object' && value !== null
        ? this.#objects.get(value)
        : this.#plain.get(`${callId}\0${String(value)}`)
    if (known) return known
    if (isOpenCall(callId, value)) return value.parts
    const text = textOf(value)
    return text === '' ? [] : [{ type: 'text', text }]
  }
}

/**
 * Whether a result is the placeholder of a call that had not ended. It may come from a stored or a client's history, so
 * only texts count as its parts.
 */
export function isOpenCall(toolCallId: string, value: unknown): value is OpenCall {
  if (typeof value !== 'object' || value === null) return false
  const { status, callId, name, parts } = value as Partial<OpenCall>
  return (
    (status === 'waiting' || status === 'running') &&
    typeof callId === 'string' &&
    typeof name === 'string' &&
    providerId(value as OpenCall) === toolCallId &&
    Array.isArray(parts) &&
    parts.length > 0 &&
    parts.every((part) => part?.type === 'text' && typeof part.text === 'string')
  )
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'))

const nativeTypes = /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/

/** Text as text; images and PDFs as files if their bytes are available; everything else by name. */
export async function modelOutput(
  parts: readonly ModelPart[],
  attachments: AttachmentReader | undefined,
): Promise<AiModelOutput> {
  const content = await Promise.all(
    parts.map(async (part) => {
      if (part.type === 'text') return { type: 'text' as const, text: part.text }
      const { mediaType, name } = part.attachment.ref
      const data = nativeTypes.test(mediaType) ? await attachmentBytes(part.attachment, attachments) : undefined
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
