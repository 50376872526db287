// Step key under which a model completion requested by a body is recorded: by its name, or by its index among the
// unnamed completions.

export const completionKey = (name: string | undefined, nextIndex: () => number): string =>
  name === undefined ? `completion:${nextIndex()}` : `complete:${name}`
