// Second stage: are the arguments ones the tool takes. The body never sees invalid input, and always sees the recorded form:
// once accepted, a later execution uses what is on record and does not ask the schema again.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { PawlError } from '../kernel/errors.ts'
import { failure } from '../kernel/outcome.ts'
import { decode, encode, type Json } from '../kernel/value.ts'
import type { Problem } from '../tool/schema.ts'
import type { Tool } from '../tool/tool.ts'

const most = 8

export async function accept(invocation: Invocation, tool: Tool): Promise<{ args: Json } | ToSettle> {
  if (invocation.args !== null) return { args: decode(invocation.args) }
  const checked = tool.input.check(decode(invocation.request.input))
  const result = checked instanceof Promise ? await checked : checked
  if (!result.ok) return { settle: refused(result.problems) }
  let args: string
  try {
    args = encode(result.value)
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    return { settle: refused([{ path: error.details.path as string, message: error.message }]) }
  }
  return { args: decode(await invocation.accept(args)) }
}

/** Phrased so that a model can mend it: every problem with its path. */
function refused(problems: readonly Problem[]): ReturnType<typeof failure> {
  const lines = problems.slice(0, most).map(({ path, message }) => `- ${path ? `${path}: ` : ''}${message}`)
  if (problems.length > most) lines.push(`- and ${problems.length - most} more`)
  const message = `The arguments are not valid:\n${lines.join('\n')}\nFix the arguments and call again.`
  return failure({ class: 'invalid_request', code: 'invalid_arguments', message })
}
