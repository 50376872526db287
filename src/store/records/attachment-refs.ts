// Which attachments a call refers to. Attachments are stored by content, once per tenant. They are erased with the
// last call that created one or contains one in its input, records or outcome.

export interface AttachmentUse {
  readonly tenant: string
  /** The attachment's id. */
  readonly id: string
  /** The uid of the call. */
  readonly call: string
}

const marker = '"$pawl":"attachment"'
const idPattern = /"id":"(att_[\w-]{43})"/g

/** The ids of the attachments in recorded texts. A text without any costs one substring search. */
export function attachmentsIn(...texts: readonly (string | null | undefined)[]): string[] {
  const found: string[] = []
  for (const text of texts)
    if (text?.includes(marker)) for (const [, id] of text.matchAll(idPattern)) found.push(id as string)
  return found
}
