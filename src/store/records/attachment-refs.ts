// JOURNAL: which attachments a call speaks of. Attachments are kept by their content, once per tenant; they are erased with the last call
// that made one or has it in what it was asked, recorded or answered.

export interface AttachmentUse {
  readonly tenant: string
  /** The attachment. */
  readonly id: string
  /** The uid of the call. */
  readonly call: string
}

const sign = '"$pawl":"attachment"'
const reference = /"id":"(att_[\w-]{43})"/g

/** The ids of the attachments in a recorded form. Most have none, and cost one look. */
export function attachmentsIn(...texts: readonly (string | null | undefined)[]): string[] {
  const found: string[] = []
  for (const text of texts)
    if (text?.includes(sign)) for (const [, id] of text.matchAll(reference)) found.push(id as string)
  return found
}
