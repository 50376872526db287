// Checks a list of messages against the rules of OpenAI and Anthropic and returns the violations. The stricter of the
// two counts: results come right after their calls, one each and in order; no text is blank; no message ends with
// reasoning; both must accept the names.

import type { ModelMessage } from 'pawl'

const name64 = /^[A-Za-z0-9_-]{1,64}$/

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
        for (const part of message.parts)
          if (part.type === 'text' && part.text.trim() === '') wrong.push(`message ${index} has an empty text`)
        if (next?.role === 'user') wrong.push(`two messages of the user at ${index}`)
        if (next?.role === 'tool') wrong.push(`results without calls at ${index + 1}`)
        break
      case 'assistant': {
        const calls = message.parts.filter((part) => part.type === 'call')
        if (message.parts.length === 0) wrong.push(`message ${index} is empty`)
        if (message.parts.at(-1)?.type === 'reasoning') wrong.push(`message ${index} ends with a thought`)
        for (const part of message.parts)
          if (part.type === 'text' && part.text.trim() === '') wrong.push(`message ${index} has an empty text`)
        for (const { id, name } of calls) {
          if (!name64.test(name)) wrong.push(`a call of message ${index} has the name ${JSON.stringify(name)}`)
          // Provider packages look names up in plain objects and would find inherited properties.
          if (name in Object.prototype)
            wrong.push(`a call of message ${index} has a name that every object has: ${name}`)
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
        const told = next.results.map(({ callId, name }) => `${callId} of ${name}`).join(', ')
        const asked = calls.map(({ id, name }) => `${id} of ${name}`).join(', ')
        if (told !== asked) wrong.push(`results of message ${index} are of ${told}, its calls ${asked}`)
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
