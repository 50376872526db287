// What a schedule or a trigger starts, checked when it is made (CRON-2): a tool that can run in the background, with arguments that it takes, or a message.

import { PawlError } from '../core/errors.ts'
import { formatValue } from '../core/format-value.ts'
import { bytesIn, fits } from '../core/size-limits.ts'
import type { WakePolicy } from '../core/task-state.ts'
import { decode, holdsAttachment } from '../core/value.ts'
import { hides, untoldProblem } from '../tools/hidden-fields.ts'
import { taskBatch } from '../store/records/task-record.ts'
import type { BackgroundHost, Owner } from '../tasks/ports.ts'
import { namesFolder, titleOf } from '../tasks/start-task.ts'

export interface WhatStarts {
  readonly tool?: string | { readonly name: string } | undefined
  readonly input?: unknown
  readonly message?: string | undefined
  readonly title?: string | undefined
  readonly wake?: WakePolicy | undefined
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

/** It goes into the ids of tasks, and into their paths. */
const idShape = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/
const mostProblems = 8
const wakes: readonly unknown[] = ['silent', 'on_terminal', 'on_activity']

export function refusing(code: Code): (why: string) => never {
  return (why) => {
    throw new PawlError(code, why)
  }
}

export function checkedId(id: unknown, code: Code): string {
  if (typeof id !== 'string' || !idShape.test(id))
    return refusing(code)(
      `The id is ${formatValue(id)}; it must be 1 to 64 of A-Z a-z 0-9 _ . -, and not begin with a dot.`,
    )
  // Its tasks are called after it.
  if (!namesFolder(id))
    refusing(code)(`The id is ${formatValue(id)}, which cannot be the name of a folder on every machine. Take another.`)
  return id
}

/** A name that does not exist is a misspelt one. */
export function checkFields(request: unknown, fields: readonly string[], code: Code): void {
  const refuse = refusing(code)
  if (typeof request !== 'object' || request === null)
    refuse(`It is ${request === null ? 'null' : `a ${typeof request}`}, not an object.`)
  for (const field of Object.keys(request as object))
    if (!fields.includes(field))
      refuse(`There is no field ${JSON.stringify(field.slice(0, 60))}; there are ${fields.join(', ')}.`)
}

/** `partial`: an argument comes later, so only what can be known now is checked. */
export async function checkStart(
  host: BackgroundHost,
  owner: Owner,
  request: WhatStarts,
  { code, partial = false }: { code: Code; partial?: boolean },
): Promise<CheckedStart> {
  const refuse = refusing(code)
  const { message, wake = 'on_terminal', title } = request
  const name = typeof request.tool === 'object' && request.tool !== null ? request.tool.name : request.tool
  if ((name === undefined) === (message === undefined))
    refuse(
      name === undefined
        ? 'It has neither tool nor message; give exactly one.'
        : 'It has both tool and message; give exactly one.',
    )
  if (!wakes.includes(wake)) refuse(`wake is ${formatValue(wake)}, not 'silent', 'on_terminal' or 'on_activity'.`)
  if (message !== undefined) {
    if (request.input !== undefined) refuse('A message takes no input.')
    if (typeof message !== 'string' || message.trim() === '' || !message.isWellFormed())
      refuse('The message must be a text that is not blank.')
    if (!fits(message, host.mostBytes))
      refuse(`The message has ${bytesIn(message)} bytes; at most ${host.mostBytes} are kept.`)
    return { tool: null, input: null, message, title: titleOf(title, null), wake, secret: false }
  }
  if (typeof name !== 'string' || name.trim() === '') return refuse('The tool must be the name of one.')
  const tool = host.tool(owner, name.trim())
  if (!tool) return refuse(`Unknown tool: ${name.slice(0, 80)}.`)
  if (!tool.background) refuse(`Tool does not support background execution: ${tool.name}.`)
  const { input, options } = host.ask(
    owner,
    { id: 'check', name: tool.name, input: request.input },
    { batch: taskBatch },
  )
  if (options?.unreadable !== undefined) refuse(`The input cannot be read: ${options.unreadable}.`)
  if (holdsAttachment(decode(input)))
    refuse('The input holds an attachment, which belongs to its call. Keep its bytes as a file of the session.')
  const checked = partial ? null : await tool.input.check(decode(input))
  if (checked && !checked.ok) {
    const problems = (hides(tool) ? checked.problems.map(untoldProblem) : checked.problems)
      .slice(0, mostProblems)
      .map(({ path, message: wrong }) => (path === '' ? wrong : `${path}: ${wrong}`))
    refuse(`The input does not fit ${tool.name}: ${problems.join('; ').slice(0, 1000).toWellFormed()}.`)
  }
  return { tool: tool.name, input, message: null, title: titleOf(title, tool), wake, secret: tool.sensitive }
}
