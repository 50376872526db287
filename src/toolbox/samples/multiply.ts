import { operation } from './arithmetic.ts'

export const multiply = operation({
  name: 'multiply',
  title: 'Multiply two numbers',
  description: 'Multiply two numbers: a × b.',
  a: 'The first number',
  b: 'The number it is multiplied by',
  sign: '×',
  words: {
    en: { started: 'Multiplying {}', completed: 'Multiplied {}', failed: 'Could not multiply {}' },
    de: { started: 'Multipliziert {}', completed: 'Multipliziert: {}', failed: 'Konnte nicht multiplizieren: {}' },
  },
  examples: [{ a: 6, b: 7 }],
  of: (a, b) => a * b,
})
