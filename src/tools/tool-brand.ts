// Marks the objects that tool() has checked, so that no other object can pass for a tool.

const branded = new WeakSet<object>()

export function brand<T extends object>(value: T): Readonly<T> {
  branded.add(value)
  return Object.freeze(value)
}

const builtIn = new WeakSet<object>()

/** Marks tools that come with Pawl. They do not count towards the number of tools from which schemas are deferred. */
export function markBuiltIn<T extends object>(tools: readonly T[]): T[] {
  for (const tool of tools) builtIn.add(tool)
  return [...tools]
}

export const isBuiltIn = (tool: object): boolean => builtIn.has(tool)

export const isBranded = (value: unknown): boolean => typeof value === 'object' && value !== null && branded.has(value)
