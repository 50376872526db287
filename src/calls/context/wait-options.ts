// What a body says of a wait, checked and in the form in which it is kept.

import type { WaitTerms } from '../../store/records/call-record.ts'
import { closeNames } from '../../core/similar-names.ts'
import { PawlError } from '../../core/errors.ts'
import { isName, longestName } from '../../core/ids.ts'
import { bytesIn, fits, type Sizes } from '../../core/size-limits.ts'
import { encode } from '../../core/value.ts'
import type { LaterOptions } from '../../tools/context/context.ts'
import type { Tool } from '../../tools/tool.ts'

const known: readonly string[] = [
  'name',
  'deadline',
  'onTimeout',
  'onCancel',
  'announce',
] satisfies (keyof LaterOptions)[]

export function waitTerms(options: LaterOptions, tool: Tool, sizes: Sizes): WaitTerms {
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `ctx.later in tool '${tool.name}': ${why}.`)
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const [close] = closeNames(name, known)
    wrong(`there is no option '${name}'${close === undefined ? '' : `; did you mean '${close}'?`}`)
  }
  const { onTimeout = 'result', onCancel = 'cancel', announce } = options
  if (onTimeout !== 'result' && onTimeout !== 'fail')
    wrong(`onTimeout is ${JSON.stringify(onTimeout)}, not 'result' or 'fail'`)
  if (onCancel !== 'cancel' && onCancel !== 'ignore')
    wrong(`onCancel is ${JSON.stringify(onCancel)}, not 'cancel' or 'ignore'`)
  return {
    ...(onTimeout === 'fail' ? { onTimeout } : {}),
    ...(onCancel === 'ignore' ? { onCancel } : {}),
    ...(announce === undefined ? {} : { announce: announced(announce, sizes, wrong) }),
    ...(tool.output ? { checked: true } : {}),
  }
}

function announced(
  given: NonNullable<LaterOptions['announce']>,
  sizes: Sizes,
  wrong: (why: string) => never,
): NonNullable<WaitTerms['announce']> {
  const { type, payload = null } = (given ?? {}) as Partial<typeof given>
  if (!isName(type)) return wrong(`announce.type must be a text of 1 to ${longestName} characters`)
  const text = encode(payload)
  if (!fits(text, sizes.event)) wrong(`announce.payload has ${bytesIn(text)} bytes; at most ${sizes.event} are kept`)
  return { type, payload: text }
}
