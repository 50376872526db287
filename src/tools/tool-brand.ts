// Marks the objects that tool() has checked, so that no other object can pass for a tool.

const branded = new WeakSet<object>()

export function brand<T extends object>(value: T): Readonly<T> {
  branded.add(value)
  return Object.freeze(value)
}

export const isBranded = (value: unknown): boolean => typeof value === 'object' && value !== null && branded.has(value)
