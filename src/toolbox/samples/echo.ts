// echo: returns its input, for demos and tests.

import { narrate } from '../../tools/narration/narration-templates.ts'
import { type Tool, tool } from '../../tools/tool.ts'
import { object, text, integer } from '../tool-schema-fields.ts'

interface Input {
  readonly message: string
}

export const echo: Tool = tool({
  name: 'echo',
  title: 'Echo a message',
  description: 'Give back the message, and how many characters it has.',
  input: object<Input>({ message: text('What to give back') }),
  output: object({ echoed: text('The message'), length: integer('Its length in characters') }),
  hints: { readOnly: true, idempotent: true },
  narrate: narrate({
    en: { started: 'Echoing a message', completed: 'Echoed a message', failed: 'Could not echo a message' },
    de: {
      started: 'Wiederholt eine Nachricht',
      completed: 'Nachricht wiederholt',
      failed: 'Konnte die Nachricht nicht wiederholen',
    },
  }),
  examples: [{ message: 'Is anybody there?' }],
  execute({ message }) {
    let length = 0
    for (const _ of message) length++
    return { echoed: message, length }
  },
})
