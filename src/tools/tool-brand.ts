// What tool() has checked and made. Nobody else can make one.

const all = new WeakSet<object>()

export function made<T extends object>(one: T): Readonly<T> {
  all.add(one)
  return Object.freeze(one)
}

export const isMade = (value: unknown): boolean => typeof value === 'object' && value !== null && all.has(value)
