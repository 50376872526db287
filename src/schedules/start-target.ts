// Validates what a schedule or a trigger starts, at creation: a background tool with valid arguments, or a message.

import { option, type OptionTable } from '../core/check-options.ts'
import { asSentence, PawlError } from '../core/errors.ts'
import { formatValue } from '../core/format-value.ts'
import { utf8Bytes, fits } from '../core/size-limits.ts'
import { type WakePolicy, wakeOption } from '../core/task-state.ts'
import { decode, containsAttachment } from '../core/tool-value.ts'
import { mayHideFields, withoutReceived } from '../tools/hidden-arguments.ts'
import type { BackgroundHost, Owner } from '../tasks/ports.ts'
import { isFolderName, taskTitle } from '../tasks/start-task.ts'
import { taskBatch } from '../store/journal-keys.ts'

/** What a schedule or subscription starts: a tool as a task, or a message to the model. One of `tool` and `message`. */
export interface StartSpec {
  /** The tool or its name. It must have `background`. */
  readonly tool?: string | { readonly name: string } | undefined
  /** Arguments of the tool. Default: {}. */
  readonly input?: unknown
  /** Text for the model, delivered as a notice. */
  readonly message?: string | undefined
  /** Title for people. Default: that of the tool. */
  readonly title?: string | undefined
  /** When the session is notified about the task. Default: 'on_terminal'. */
  readonly wake?: WakePolicy | undefined
  /** Id of the schedule or subscription. The same id again is the same one. Default: a generated id. */
  readonly id?: string | undefined
}

export interface CheckedStart {
  readonly tool: string | null
  readonly input: string | null
  readonly message: string | null
  readonly title: string
  readonly wake: WakePolicy
  readonly secret: boolean
}

type Code = 'schedule_invalid' | 'trigger_invalid'

/** The id becomes part of task ids and their file paths. */
const idShape = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/
const maxProblems = 8

export function rejectWith(code: Code): (why: string) => never {
  return (why) => {
    throw new PawlError(code, why)
  }
}

export function checkStartId(id: unknown, code: Code): string {
  if (typeof id !== 'string' || !idShape.test(id))
    return rejectWith(code)(
      `The id is ${formatValue(id)}; it must be 1 to 64 characters of A-Z a-z 0-9 _ . -, and not begin with a dot.`,
    )
  // The ids of its tasks, and so their folders, begin with it.
  if (!isFolderName(id))
    rejectWith(code)(
      `The id is ${formatValue(id)}, which is not a valid folder name on every operating system. Choose another one.`,
    )
  return id
}

/** The rows that schedules and triggers share. checkStart checks the values further. */
export const startOptions = {
  tool: option.either(option.string, option.object),
  input: option.anything,
  message: option.string,
  title: option.string,
  wake: wakeOption,
  id: option.string,
} satisfies OptionTable<StartSpec>

/** `partial`: an argument is filled in later (payloadTo), so the input is not checked against the schema yet. */
export async function checkStart(
  host: BackgroundHost,
  owner: Owner,
  request: StartSpec,
  { code, partial = false }: { code: Code; partial?: boolean },
): Promise<CheckedStart> {
  const refuse = rejectWith(code)
  const { message, wake = 'on_terminal', title } = request
  const name = typeof request.tool === 'object' && request.tool !== null ? request.tool.name : request.tool
  if ((name === undefined) === (message === undefined))
    refuse(
      name === undefined
        ? 'The request has neither tool nor message; give exactly one.'
        : 'The request has both tool and message; give exactly one.',
    )
  if (message !== undefined) {
    if (request.input !== undefined) refuse('`input` is not allowed with a message.')
    if (typeof message !== 'string' || message.trim() === '' || !message.isWellFormed())
      refuse('The message must be a string that is not blank.')
    if (!fits(message, host.sizes.arguments))
      refuse(`The message has ${utf8Bytes(message)} bytes; at most ${host.sizes.arguments} are accepted.`)
    return { tool: null, input: null, message, title: taskTitle(title, null), wake, secret: false }
  }
  if (typeof name !== 'string' || name.trim() === '') return refuse('`tool` must be the name of a tool.')
  const tool = host.registry.tool(owner, name.trim())
  if (!tool) return refuse(`Unknown tool: ${name.slice(0, 80)}.`)
  if (!tool.background) refuse(`Tool does not support background execution: ${tool.name}.`)
  const { input, options } = host.buildCall(
    host,

    owner,
    { id: 'check', name: tool.name, input: request.input },
    { batch: taskBatch },
  )
  if (options?.unreadable !== undefined) refuse(asSentence(`The input cannot be read: ${options.unreadable}`))
  if (containsAttachment(decode(input)))
    refuse('The input contains an attachment, which belongs to its call. Store its bytes as a session file instead.')
  const checked = partial ? null : await tool.input.check(decode(input))
  if (checked && !checked.ok) {
    const problems = (mayHideFields(tool) ? checked.problems.map(withoutReceived) : checked.problems)
      .slice(0, maxProblems)
      .map(({ path, message: wrong }) => (path === '' ? wrong : `${path}: ${wrong}`))
    refuse(`The input does not fit ${tool.name}: ${problems.join('; ').slice(0, 1000).toWellFormed()}.`)
  }
  return { tool: tool.name, input, message: null, title: taskTitle(title, tool), wake, secret: tool.sensitive }
}
