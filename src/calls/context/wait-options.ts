// Checks the options of ctx.later and converts them to the recorded form.

import type { WaitTerms } from '../../store/records/call-record.ts'
import { similarNames } from '../../core/similar-names.ts'
import { asSentence, PawlError } from '../../core/errors.ts'
import { isName, maxNameLength } from '../../core/ids.ts'
import { utf8Bytes, fits, type Sizes } from '../../core/size-limits.ts'
import { encode } from '../../core/tool-value.ts'
import type { LaterOptions } from '../../tools/context/tool-context.ts'
import type { Tool } from '../../tools/tool.ts'

const known: readonly string[] = [
  'name',
  'deadline',
  'onTimeout',
  'onCancel',
  'announce',
] satisfies (keyof LaterOptions)[]

export function waitTerms(options: LaterOptions, tool: Tool, sizes: Sizes): WaitTerms {
  const refuse = (why: string): never => {
    throw new PawlError('config_invalid', asSentence(`ctx.later in tool '${tool.name}': ${why}`))
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const [close] = similarNames(name, known)
    refuse(`there is no option '${name}'${close === undefined ? '' : `; did you mean '${close}'?`}`)
  }
  const { onTimeout = 'result', onCancel = 'cancel', announce } = options
  if (onTimeout !== 'result' && onTimeout !== 'fail')
    refuse(`onTimeout is ${JSON.stringify(onTimeout)}; it must be 'result' or 'fail'`)
  if (onCancel !== 'cancel' && onCancel !== 'ignore')
    refuse(`onCancel is ${JSON.stringify(onCancel)}; it must be 'cancel' or 'ignore'`)
  return {
    ...(onTimeout === 'fail' ? { onTimeout } : {}),
    ...(onCancel === 'ignore' ? { onCancel } : {}),
    ...(announce === undefined ? {} : { announce: checkAnnounce(announce, sizes, refuse) }),
    ...(tool.output ? { checked: true } : {}),
  }
}

function checkAnnounce(
  given: NonNullable<LaterOptions['announce']>,
  sizes: Sizes,
  refuse: (why: string) => never,
): NonNullable<WaitTerms['announce']> {
  const { type, payload = null } = (given ?? {}) as Partial<typeof given>
  if (!isName(type)) return refuse(`announce.type must be a string of 1 to ${maxNameLength} characters`)
  const text = encode(payload)
  if (!fits(text, sizes.event)) refuse(`announce.payload has ${utf8Bytes(text)} bytes; the limit is ${sizes.event}`)
  return { type, payload: text }
}
