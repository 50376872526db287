// The messages that a model would be sent for these recorded ones.

import { Conversation } from '../../src/models/conversation.ts'
import type { Message, ModelMessage } from '../../src/models/message.ts'

export function conversationOf(messages: readonly Message[]): readonly ModelMessage[] {
  const conversation = new Conversation()
  for (const message of messages) conversation.push(message)
  return conversation.messages
}
