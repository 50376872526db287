// Tools and calls that several scenarios share.

import { type Tool, tool, type ToolContext } from 'pawl'

export const object = { type: 'object' } as const
export const never = (): Promise<never> => new Promise(() => {})

type Body = (input: Record<string, unknown>, ctx: ToolContext) => unknown
type More = Partial<Parameters<typeof tool>[0]>

/** A tool named `work` unless `more` says otherwise. */
export const work = (execute: Body, more: More = {}): Tool =>
  tool({ name: 'work', description: 'Works', input: object, execute, ...more } as Parameters<typeof tool>[0])

/** One that has no body, as the caller runs it. */
export const bodiless = (more: More): Tool => tool({ name: 'work', description: 'Works', input: object, ...more })

export const calls = [{ id: 'a', name: 'work', input: {} }]
export const batch = { batch: 'b' }
