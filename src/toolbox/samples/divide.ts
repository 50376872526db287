import { fail } from '../../core/outcome.ts'
import { operation } from './arithmetic.ts'

export const divide = operation({
  name: 'divide',
  title: 'Divide two numbers',
  description: 'Divide one number by another: a ÷ b.',
  a: 'The number that is divided',
  b: 'The number it is divided by; not 0',
  sign: '÷',
  words: {
    en: { started: 'Dividing {}', completed: 'Divided {}', failed: 'Could not divide {}' },
    de: { started: 'Dividiert {}', completed: 'Dividiert: {}', failed: 'Konnte nicht dividieren: {}' },
  },
  examples: [{ a: 22, b: 7 }],
  of(a, b) {
    if (b === 0) throw fail('Cannot divide by zero', { code: 'division_by_zero', class: 'invalid_request' })
    return a / b
  },
})
