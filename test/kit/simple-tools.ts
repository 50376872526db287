// Tools without arguments, for tests in which only the body and the recovery fields of a tool matter.

import {
  type AnySchema,
  type JsonSchema,
  type Tool,
  tool,
  type ToolContext,
  type ToolDefinition,
} from '../../src/index.ts'

type Body = (input: Record<string, unknown>, ctx: ToolContext) => unknown
type Fields = Partial<Omit<ToolDefinition<JsonSchema, unknown>, 'name' | 'input' | 'execute'>>
interface MakeTool {
  (name: string, execute: Body): Tool
  (name: string, fields: Fields, execute: Body): Tool
}
const toolWith =
  (common: Fields): MakeTool =>
  (name: string, ...rest: [Body] | [Fields, Body]): Tool => {
    const [fields, execute] = rest.length === 1 ? [{}, rest[0]] : rest
    return tool({ name, description: 'd', input: { type: 'object' }, ...common, ...fields, execute })
  }

export const simpleTool = toolWith({})
export const readOnlyTool = toolWith({ hints: { readOnly: true } })
/** Its body runs again after a crash. */
export const rerunTool = toolWith({ onCrash: 'rerun' })
/** It can run as a task; after a crash its body does not run again. */
export const backgroundTool = toolWith({ background: true })
/** It can run as a task, and its body runs again after a crash. */
export const rerunTask = toolWith({ onCrash: 'rerun', background: true })

type FieldsWith<S extends AnySchema, R> = Partial<Omit<ToolDefinition<S, R>, 'name' | 'input' | 'execute'>>
/** A tool with arguments. */
export const argumentTool = <const S extends AnySchema, R>(
  name: string,
  input: S,
  fields: FieldsWith<S, R>,
  execute: Required<ToolDefinition<S, R>>['execute'],
) => tool<S, R>({ name, description: 'd', input, ...fields, execute })

export const hang = (): Promise<never> => new Promise(() => {})
/** Rejects when the call is cancelled. */
const untilAborted = (_: unknown, { signal }: { signal: AbortSignal }): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
/** A task that runs until it is cancelled. */
export const patient = rerunTask('patient', untilAborted)

/** A task named work that succeeds with 'worked' after go(). */
export function gatedTask(): { tool: Tool; go: () => void } {
  const gate = Promise.withResolvers<void>()
  return { tool: rerunTask('work', { timeout: '1d' }, () => gate.promise.then(() => 'worked')), go: gate.resolve }
}
