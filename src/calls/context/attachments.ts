// Attachments: bytes stored with a call for as long as any call refers to them. Used by ctx.attachments and for files
// that a user sends with a message, which belong to the turn that reads it.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { createHash, createHmac } from 'node:crypto'
import type { Execution } from '../../engine/engine.ts'
import { isSealedUid, sealedUid } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import { isName, maxNameLength } from '../../core/ids.ts'
import { utf8Bytes, fits, type Sizes } from '../../core/size-limits.ts'
import { type Attachment, isAttachment, mintAttachment } from '../../core/tool-value.ts'
import type { Attachments, ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment } from './call-environment.ts'

/**
 * Content-addressed: equal bytes within a tenant are one attachment, on a replay too. For an encrypted call the id is
 * keyed with a secret of the call, so that the id does not reveal the content.
 */
function attachmentId(execution: Execution, mediaType: string, bytes: Uint8Array): string {
  const sealed = isSealedUid(execution.request.uid)
  const hash = sealed ? createHmac('sha256', execution.derive('attachments')) : createHash('sha256')
  const id = `att_${hash.update(mediaType).update('\0').update(bytes).digest('base64url')}`
  return sealed ? sealedUid(id) : id
}

const createOptions = {
  mediaType: option.required(option.string),
  name: option.string,
} satisfies OptionTable<Parameters<Attachments['create']>[1]>

export const attachments = (context: CallEnvironment): Pick<ToolContext, 'attachments'> => ({
  attachments: attachmentsOf(context.execution, context.host.sizes, (what) => context.assertUsable(what)),
})

export function attachmentsOf(
  execution: Execution,
  sizes: Sizes,
  leaf: (what: string) => void = () => {},
): Attachments {
  const { tenant } = execution.request.position
  return {
    create(data, options): Attachment {
      leaf('attachments.create')
      checkRequiredOptions(options, createOptions, 'ctx.attachments.create()', 'value_invalid')
      const { mediaType, name } = options
      // Both are stored in databases that do not accept NUL or lone surrogates.
      for (const [what, text] of [
        ['mediaType', mediaType],
        ['name', name ?? 'none'],
      ] as const) {
        if (!isName(text))
          throw new PawlError(
            'value_invalid',
            `The ${what} of an attachment must be a string of 1 to ${maxNameLength} characters without NUL or lone surrogates.`,
          )
      }
      const within = typeof data === 'string' ? fits(data, sizes.attachment) : data.byteLength <= sizes.attachment
      if (!within) {
        const size = typeof data === 'string' ? utf8Bytes(data) : data.byteLength
        throw new PawlError('attachment_too_large', `It has ${size} bytes; the limit is ${sizes.attachment}.`)
      }
      const bytes = typeof data === 'string' ? Buffer.from(data) : Uint8Array.from(data) // a copy: the buffer may change
      const id = attachmentId(execution, mediaType, bytes)
      execution.attach({ id, tenant, mediaType, name: name ?? null, data: bytes })
      return mintAttachment({ id, mediaType, bytes: bytes.length, ...(name === undefined ? {} : { name }) })
    },
    async read(attachment) {
      if (!isAttachment(attachment))
        throw new PawlError(
          'value_invalid',
          'The value is not an attachment from ctx.attachments or from a recorded value.',
        )
      const found = await execution.attachment(attachment.ref.id)
      if (!found)
        throw new PawlError('value_undecodable', `The attachment ${attachment.ref.id} does not exist in this tenant.`)
      return found.data
    },
  }
}
