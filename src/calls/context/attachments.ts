// Files that go on record with a call, and are kept as long as any call speaks of them (VAL-1): ctx.attachments of a body, and those that a user sends with a
// message, which belong to the turn that reads it.

import { createHash, createHmac } from 'node:crypto'
import type { Execution } from '../../engine/engine.ts'
import { isSealedUid, sealedUid } from '../../store/records/sealed-uid.ts'
import { PawlError } from '../../core/errors.ts'
import { isName, longestName } from '../../core/ids.ts'
import { bytesIn, fits, type Sizes } from '../../core/size-limits.ts'
import { type Attachment, isAttachment, mintAttachment } from '../../core/value.ts'
import type { Attachments } from '../../tools/context/context.ts'

/** Content-addressed: the same bytes of a tenant are one attachment, on a replay too. Sealed ones tell nobody what they hold: one per call. */
function attachmentId(execution: Execution, mediaType: string, bytes: Uint8Array): string {
  const sealed = isSealedUid(execution.request.uid)
  const hash = sealed ? createHmac('sha256', execution.derive('attachments')) : createHash('sha256')
  const id = `att_${hash.update(mediaType).update('\0').update(bytes).digest('base64url')}`
  return sealed ? sealedUid(id) : id
}

export function attachmentsOf(
  execution: Execution,
  sizes: Sizes,
  leaf: (what: string) => void = () => {},
): Attachments {
  const { tenant } = execution.request.position
  return {
    create(data, { mediaType, name: given }): Attachment {
      leaf('attachments.create')
      // They go on record, and into databases that do not take everything.
      const name = given ?? undefined
      for (const [what, text] of [
        ['mediaType', mediaType],
        ['name', name ?? 'none'],
      ] as const) {
        if (!isName(text))
          throw new PawlError(
            'value_invalid',
            `The ${what} of an attachment must be a text of 1 to ${longestName} characters.`,
          )
      }
      const within = typeof data === 'string' ? fits(data, sizes.attachment) : data.byteLength <= sizes.attachment
      if (!within) {
        const size = typeof data === 'string' ? bytesIn(data) : data.byteLength
        throw new PawlError('attachment_too_large', `It has ${size} bytes; at most ${sizes.attachment} are kept.`)
      }
      const bytes = typeof data === 'string' ? Buffer.from(data) : Uint8Array.from(data) // a copy: the caller's buffer may change
      const id = attachmentId(execution, mediaType, bytes)
      execution.attach({ id, tenant, mediaType, name: name ?? null, data: bytes })
      return mintAttachment({ id, mediaType, bytes: bytes.length, ...(name === undefined ? {} : { name }) })
    },
    async read(attachment) {
      if (!isAttachment(attachment)) throw new PawlError('value_invalid', 'This is not an attachment of the record.')
      const found = await execution.attachment(attachment.ref.id)
      if (!found) throw new PawlError('value_undecodable', `The attachment ${attachment.ref.id} is not in this tenant.`)
      return found.data
    },
  }
}
