// Decides whether a message is sealed: calls and results of a sensitive tool are sealed in the conversation as in the
// call record, including the arguments of a task start.

import { argumentLimits, readArguments } from '../../calls/admission/read-arguments.ts'
import { callsIn, type Message } from '../../models/message.ts'
import { isSensitive } from '../../sessions/build-call-request.ts'
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
      // A result of a task start does not name the started tool; the sealed request does.
      const { message: request, secret } = history.last ?? {}
      return (
        (request?.role === 'assistant' && secret === true) ||
        message.results.some(({ name }) => tools.find(name)?.sensitive === true)
      )
    }
    default:
      return false
  }
}
