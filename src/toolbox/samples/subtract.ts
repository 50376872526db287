import { operation } from './arithmetic.ts'

export const subtract = operation({
  name: 'subtract',
  title: 'Subtract two numbers',
  description: 'Subtract one number from another: a - b.',
  a: 'The number to subtract from',
  b: 'The number that is subtracted',
  sign: '−',
  words: {
    en: { started: 'Subtracting {}', completed: 'Subtracted {}', failed: 'Could not subtract {}' },
    de: { started: 'Subtrahiert {}', completed: 'Subtrahiert: {}', failed: 'Konnte nicht subtrahieren: {}' },
  },
  examples: [{ a: 10, b: 4 }],
  of: (a, b) => a - b,
})
