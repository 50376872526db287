import { operation } from './arithmetic.ts'

export const add = operation({
  name: 'add',
  title: 'Add two numbers',
  description: 'Add two numbers: a + b.',
  a: 'The first number',
  b: 'The number that is added to it',
  sign: '+',
  words: {
    en: { started: 'Adding {}', completed: 'Added {}', failed: 'Could not add {}' },
    de: { started: 'Addiert {}', completed: 'Addiert: {}', failed: 'Konnte nicht addieren: {}' },
  },
  examples: [{ a: 2, b: 3 }],
  of: (a, b) => a + b,
})
