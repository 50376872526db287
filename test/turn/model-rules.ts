// What OpenAI and Anthropic ask of a list of messages, as one checker: what is wrong with it, a sentence each.

import type { ModelMessage } from 'pawl'

export function problemsIn(messages: readonly ModelMessage[]): string[] {
  const wrong: string[] = []
  const ids = new Set<string>()
  if (messages.length === 0) wrong.push('there is no message')
  if (messages[0]?.role !== 'user') wrong.push('the first message is not of the user')
  for (const [index, message] of messages.entries()) {
    const next = messages[index + 1]
    switch (message.role) {
      case 'user':
        if (message.parts.length === 0) wrong.push(`message ${index} is empty`)
        for (const part of message.parts) if (part.type === 'text' && part.text === '') wrong.push(`message ${index} has an empty text`)
        if (next?.role === 'user') wrong.push(`two messages of the user at ${index}`)
        if (next?.role === 'tool') wrong.push(`results without calls at ${index + 1}`)
        break
      case 'assistant': {
        const calls = message.parts.filter((part) => part.type === 'call')
        if (message.parts.length === 0) wrong.push(`message ${index} is empty`)
        for (const { id, name } of calls) {
          if (ids.has(id)) wrong.push(`the id ${id} is used twice`)
          ids.add(id)
          if (id === '' || name === '') wrong.push(`a call of message ${index} has no id or name`)
        }
        if (next?.role === 'assistant') wrong.push(`two messages of the model at ${index}`)
        if (calls.length === 0 && next?.role === 'tool') wrong.push(`results without calls at ${index + 1}`)
        if (calls.length === 0) break
        if (next?.role !== 'tool') {
          wrong.push(`calls of message ${index} have no results`)
          break
        }
        const told = next.results.map(({ callId }) => callId).join(' ')
        if (told !== calls.map(({ id }) => id).join(' ')) wrong.push(`results of message ${index} are ${told}`)
        break
      }
      case 'tool':
        if (messages[index - 1]?.role !== 'assistant') wrong.push(`results at ${index} follow no calls`)
        if (next?.role === 'tool') wrong.push(`results twice at ${index}`)
        break
      default:
        wrong.push(`message ${index} has the role ${JSON.stringify(message satisfies never)}`)
    }
  }
  if (messages.at(-1)?.role === 'assistant') wrong.push('the last message is of the model')
  return wrong
}
