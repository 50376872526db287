// Routes of turns, chats, messages and notices.

import { z } from 'zod'
import { turnOutcome } from '../schemas/calls.ts'
import {
  changed,
  duration,
  flag,
  inSession,
  jsonObject,
  name,
  reason,
  text,
  waitTime,
  wholeNumber,
} from '../schemas/fields.ts'
import { notice, storedMessage, uiMessage } from '../schemas/data.ts'
import { noJson, route } from './route.ts'

/** A file of a user message, its bytes in base64. */
const userFile = z.strictObject({
  data: z.base64(),
  mediaType: text.min(1).max(200),
  name: text.max(512).exactOptional(),
})
const userMessage = z.union([
  text.min(1),
  z.strictObject({ text: text.exactOptional(), attachments: z.array(userFile).max(100).exactOptional() }),
])

const turnLimits = z.strictObject({
  steps: wholeNumber(1).exactOptional(),
  time: duration.exactOptional(),
  invalid: wholeNumber(1).exactOptional(),
  historyTokens: wholeNumber(1).exactOptional(),
  cost: z.number().positive().exactOptional(),
})

/** The settings of a turn that a request may choose. Models and frames are named: the server has them. */
const turnSettings = {
  model: name.exactOptional(),
  frame: name.exactOptional(),
  instructions: text.exactOptional(),
  tools: z.array(name).max(1_000).exactOptional(),
  toolChoice: z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: name })]).exactOptional(),
  parallel: z.boolean().exactOptional(),
  output: jsonObject.exactOptional(),
  limits: turnLimits.exactOptional(),
  background: duration.exactOptional(),
}

const turnState = z.strictObject({
  turn: z.string(),
  status: z.enum(['open', 'ended']),
  outcome: turnOutcome.nullable().describe('null while the turn is open'),
})

export const turns = {
  'turns.start': route({
    needs: 'call',
    summary: 'Starts a turn. By default the answer comes as soon as the turn is recorded.',
    input: z.strictObject({
      ...inSession,
      ...turnSettings,
      id: name.exactOptional(),
      message: userMessage.exactOptional(),
      until: z.union([z.enum(['accepted', 'ended']), waitTime]).exactOptional(),
    }),
    output: turnState,
    idempotencyField: 'id',
  }),
  'turns.open': route({
    needs: 'read',
    summary: 'Names the turn that holds the session.',
    input: z.strictObject(inSession),
    output: z.strictObject({ turn: z.string().nullable() }),
  }),
  'turns.get': route({
    needs: 'read',
    summary: 'Reads a turn. With `wait` it waits so long for the end of the turn.',
    input: z.strictObject({ ...inSession, turn: name, wait: waitTime.exactOptional() }),
    output: turnState,
  }),
  'turns.stream': route({
    needs: 'read',
    kind: 'chat',
    summary: 'Streams a turn from its beginning in the UI message stream protocol of the AI SDK.',
    input: z.strictObject({
      ...inSession,
      turn: name,
      until: z.enum(['waiting', 'ended']).exactOptional(),
      stepsShown: wholeNumber(0).exactOptional(),
    }),
    output: noJson,
  }),
  'turns.cancel': route({
    needs: 'call',
    summary: 'Cancels a turn and its calls.',
    input: z.strictObject({ ...inSession, turn: name, reason: reason.exactOptional() }),
    output: changed,
  }),
  'chat.messages': route({
    needs: 'read',
    summary: 'The conversation as `useChat` of the AI SDK shows it.',
    input: z.strictObject({ ...inSession, limit: wholeNumber(1, 1_000).exactOptional() }),
    output: z.array(uiMessage),
  }),
  'chat.send': route({
    needs: 'call',
    kind: 'chat',
    summary: 'The POST request of `useChat`: a message, or decisions about approvals. Streams the turn.',
    // Only the newest message and the decisions are read; what else a client sends is ignored.
    input: z.looseObject({ ...inSession, model: name.exactOptional(), frame: name.exactOptional() }),
    output: noJson,
  }),
  'chat.resume': route({
    needs: 'read',
    kind: 'chat',
    summary: 'The GET request of `useChat` after a reload: streams the open turn, or answers 204.',
    input: z.strictObject({ ...inSession, chat: name, after: name.exactOptional() }),
    output: noJson,
  }),
  'messages.list': route({
    needs: 'read',
    summary:
      'Lists the conversation in order: its beginning, or the page after or before a number, or with `newest` its end.',
    input: z.strictObject({
      ...inSession,
      after: wholeNumber(0).exactOptional(),
      before: wholeNumber(1).exactOptional(),
      newest: flag.exactOptional(),
      limit: wholeNumber(1, 1_000).exactOptional(),
    }),
    output: z.array(storedMessage),
  }),
  'messages.send': route({
    needs: 'call',
    summary: 'Sends a user message that the open turn reads next, or the next turn.',
    input: z.strictObject({
      ...inSession,
      message: userMessage,
      when: z.enum(['next', 'after']).exactOptional(),
      id: name.exactOptional(),
    }),
    output: z.strictObject({ sent: z.literal(true) }),
    idempotencyField: 'id',
  }),
  'messages.waiting': route({
    needs: 'read',
    summary: 'Lists sent messages that no model has read yet.',
    input: z.strictObject(inSession),
    output: z.array(
      z.strictObject({ id: z.string(), text: z.string(), files: z.number(), when: z.enum(['next', 'after']) }),
    ),
  }),
  'notices.list': route({
    needs: 'read',
    summary: 'Lists notices for the model that are not acknowledged: tasks that ended, due schedules.',
    input: z.strictObject(inSession),
    output: z.array(notice),
  }),
  'notices.acknowledge': route({
    needs: 'call',
    summary: 'Marks notices as delivered.',
    input: z.strictObject({ ...inSession, ids: z.array(name).max(1_000) }),
    output: z.strictObject({ acknowledged: z.number() }),
  }),
}
