// What a sensitive tool was asked, and gave, is sealed in the conversation as it is with its call (DUR-12); so is what it is to be started with.

import { argumentLimits, readArguments } from '../../calls/admission/read-arguments.ts'
import { callsIn, type Message } from '../../models/message.ts'
import { isSensitive } from '../../sessions/sensitive-tools.ts'
import type { Toolset } from '../../tools/toolset.ts'
import type { History } from './history.ts'

export function isSensitiveMessage(
  message: Message,
  tools: Toolset,
  history: Pick<History, 'isSecret' | 'last'>,
): boolean {
  switch (message.role) {
    case 'summary':
      return history.isSecret
    case 'assistant':
      return callsIn(message).some(({ name, input }) =>
        isSensitive(tools.find(name), readArguments(input, argumentLimits), tools),
      )
    case 'tool': {
      // Of a call that was to start another one the name does not tell.
      const { message: asked, secret } = history.last ?? {}
      return (
        (asked?.role === 'assistant' && secret === true) ||
        message.results.some(({ name }) => tools.find(name)?.sensitive === true)
      )
    }
    default:
      return false
  }
}
