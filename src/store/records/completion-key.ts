// JOURNAL: the step under which an answer is on record that a body asked a model for: by its name, or by its place among those that have none.

export const completionKey = (name: string | undefined, place: () => number): string =>
  name === undefined ? `completion:${place()}` : `complete:${name}`
