// ctx.sleep, later, ask and connection: they let a body wait for a time, an external service or a person.

import type { WaitTerms } from '../../store/records/call-record.ts'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { isName, maxNameLength } from '../../core/ids.ts'
import { utf8Bytes, fits, type Sizes } from '../../core/size-limits.ts'
import { encode } from '../../core/tool-value.ts'
import type { Later, LaterOptions, ToolContext } from '../../tools/context/tool-context.ts'
import type { Tool } from '../../tools/tool.ts'
import { WaitError } from '../../store/records/wait-resolution.ts'
import { askQuestion } from '../authorization/ask-question.ts'
import { connectionOf } from '../authorization/request-connection.ts'
import type { CallEnvironment } from './call-environment.ts'
import { LaterHandle, registerWait } from './deferred-result.ts'
import { stepKeys, isReserved } from '../../store/journal-keys.ts'

const defaultDeadline = '7d'
const defaultWaitName = 'later'

export function waits(context: CallEnvironment): Pick<ToolContext, 'sleep' | 'later' | 'ask' | 'connection'> {
  const { execution, tool, host, control } = context
  let sleeps = 0
  return {
    async sleep(duration) {
      const ms = milliseconds(duration, 'The duration of ctx.sleep')
      context.assertUsable('sleep')
      context.requireRerun('ctx.sleep')
      context.countEntry()
      const key = stepKeys.sleep(++sleeps)
      context.replay?.reach(key)
      await context.whileWaiting(() => execution.sleep(key, ms, context.signal))
    },
    async later<T>(options: LaterOptions = {}): Promise<Later<T>> {
      checkOptions(options, laterOptions, 'ctx.later()')
      const name = options.name ?? defaultWaitName
      if (name.trim() === '') throw new PawlError('wait_name_empty')
      // The prefix 'pawl:' is reserved for waits of the runtime.
      if (isReserved(name) || !isName(name))
        throw new PawlError('wait_name_invalid', `The name is ${JSON.stringify(name.slice(0, 60))}.`)
      context.assertUsable('later')
      context.countEntry()
      context.warnIfNoRerun('later')
      const deadlineMs = milliseconds(options.deadline ?? defaultDeadline, 'The deadline of a wait')
      const wait = await execution.openWait({ name, deadlineMs, terms: waitTerms(options, tool, host.sizes) })
      const handle = new LaterHandle<T>(wait, async () => {
        context.assertUsable('later')
        context.requireRerun('await later.value')
        const resolution = await context.whileWaiting(() => execution.awaitAnswer(wait, context.signal))
        if ('value' in resolution) return resolution.value as T
        throw new WaitError(resolution)
      })
      return registerWait(handle, wait, execution.request.uid)
    },
    async ask(question) {
      context.assertUsable('ask')
      context.countEntry()
      return askQuestion(context, question, async (wait) => {
        context.assertUsable('ask')
        context.requireRerun('the answer to ctx.ask')
        control?.setDeciding(true)
        try {
          return await context.whileWaiting(wait)
        } finally {
          control?.setDeciding(false)
        }
      })
    },
    async connection(provider) {
      if (context.ended) throw new PawlError('attempt_over')
      return connectionOf(context, provider)
    },
  }
}

const laterOptions = {
  name: option.string,
  deadline: option.duration,
  onTimeout: option.oneOf('result', 'fail'),
  onCancel: option.oneOf('cancel', 'ignore'),
  announce: option.nested({ type: option.required(option.string), payload: option.anything } satisfies OptionTable<
    NonNullable<LaterOptions['announce']>
  >),
} satisfies OptionTable<LaterOptions>

/** The recorded form of the options. */
function waitTerms({ onTimeout, onCancel, announce }: LaterOptions, tool: Tool, sizes: Sizes): WaitTerms {
  return {
    ...(onTimeout === 'fail' ? { onTimeout } : {}),
    ...(onCancel === 'ignore' ? { onCancel } : {}),
    ...(announce === undefined ? {} : { announce: announcement(announce, tool, sizes) }),
    ...(tool.output ? { checked: true } : {}),
  }
}

function announcement(
  { type, payload = null }: NonNullable<LaterOptions['announce']>,
  tool: Tool,
  sizes: Sizes,
): NonNullable<WaitTerms['announce']> {
  const refuse = (why: string): never => {
    throw new PawlError('config_invalid', `ctx.later in tool '${tool.name}': ${why}.`)
  }
  if (!isName(type)) return refuse(`\`announce.type\` must be a string of 1 to ${maxNameLength} characters`)
  const text = encode(payload)
  if (!fits(text, sizes.event)) refuse(`\`announce.payload\` has ${utf8Bytes(text)} bytes; the limit is ${sizes.event}`)
  return { type, payload: text }
}
