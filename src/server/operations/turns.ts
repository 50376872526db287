// Operations of turns, messages, chats and notices.

import type { Runtime, StartTurn, Turn, TurnOutcome, UserMessageInput } from '../../index.ts'
import type { Input, Output } from '../routes/routes.ts'
import { found, type Operation, type OperationContext, sessionOf, waitMs, within, without } from './context.ts'

type GivenMessage = NonNullable<Input<'turns.start'>['message']>

/** A message as the runtime takes it: the bytes of its files are in base64 on the wire. */
const toMessage = (message: GivenMessage): UserMessageInput =>
  typeof message === 'string'
    ? message
    : {
        ...message,
        ...(message.attachments === undefined
          ? {}
          : { attachments: message.attachments.map((file) => ({ ...file, data: Buffer.from(file.data, 'base64') })) }),
      }

const stateOf = (turn: string, outcome: TurnOutcome | null): Output<'turns.get'> => ({
  turn,
  status: outcome ? 'ended' : 'open',
  outcome,
})

/** Model and frame of a request, or else those of the server. */
const settingsOf = (
  { turnDefaults }: OperationContext,
  { model, frame }: { readonly model?: string; readonly frame?: string },
): Pick<StartTurn, 'model' | 'frame' | 'instructions'> =>
  model === undefined && frame === undefined
    ? turnDefaults
    : { ...(model === undefined ? {} : { model }), ...(frame === undefined ? {} : { frame }) }

const start: Operation<'turns.start'> = async (context, input) => {
  const { message, until = 'accepted', model: _, frame: __, ...rest } = without(input, 'session')
  const turn: Turn = sessionOf(context, input).turn({
    ...settingsOf(context, input),
    ...(rest as Omit<StartTurn, 'message'>),
    ...(message === undefined ? {} : { message: toMessage(message) }),
  })
  await turn.accepted
  if (until === 'accepted') return stateOf(turn.id, null)
  return stateOf(turn.id, await within(context, waitMs(until), turn.outcome))
}

const turnOf = async (context: OperationContext, input: { session: string; turn: string }): Promise<Turn> =>
  found(await sessionOf(context, input).turns.get(input.turn), 'turn')

const open: Operation<'turns.open'> = async (context, input) => ({
  turn: (await sessionOf(context, input).turns.open())?.id ?? null,
})

const get: Operation<'turns.get'> = async (context, input) => {
  const turn = await turnOf(context, input)
  // A recorded outcome is read, not waited for.
  const isOpen = (await sessionOf(context, input).turns.open())?.id === turn.id
  const outcome = isOpen ? within(context, waitMs(input.wait ?? 0), turn.outcome) : turn.outcome
  return stateOf(turn.id, await outcome)
}

const cancel: Operation<'turns.cancel'> = async (context, input) => ({
  changed: await (await turnOf(context, input)).cancel(input.reason, context.caller.principal),
})

/** The stream of a turn as a response. */
export async function streamTurn(context: OperationContext, input: Input<'turns.stream'>): Promise<Response> {
  const turn = await turnOf(context, input)
  const { toUIMessageStreamResponse } = await import('../../adapters/ai-sdk/ui-chat.ts')
  return toUIMessageStreamResponse(turn, without(input, 'session', 'turn'))
}

/** Decisions in a chat request need the right to decide; without it they are refused, and the message still counts. */
function decideFor({ runtime, caller }: OperationContext): Pick<Runtime, 'decide'> {
  if (caller.permissions.has('decide')) return runtime
  const refused = { answer: 'refused', why: 'not_an_approver', message: 'The token does not allow decisions.' } as const
  return { decide: async () => refused }
}

export async function sendChat(context: OperationContext, input: Input<'chat.send'>): Promise<Response> {
  const { chatResponse } = await import('../../adapters/ai-sdk/ui-chat.ts')
  return chatResponse({
    runtime: decideFor(context),
    session: sessionOf(context, input),
    request: input,
    by: context.caller.principal,
    turn: settingsOf(context, input),
  })
}

export async function resumeChat(context: OperationContext, input: Input<'chat.resume'>): Promise<Response> {
  const { resumeChatResponse } = await import('../../adapters/ai-sdk/ui-chat.ts')
  return resumeChatResponse(sessionOf(context, input), without(input, 'session', 'chat'))
}

const chatMessages: Operation<'chat.messages'> = (context, input) =>
  sessionOf(context, input).turns.uiMessages(without(input, 'session'))

const listMessages: Operation<'messages.list'> = (context, input) =>
  sessionOf(context, input).messages.list(without(input, 'session'))

const sendMessage: Operation<'messages.send'> = async (context, input) => {
  await sessionOf(context, input).messages.send(toMessage(input.message), without(input, 'session', 'message'))
  return { sent: true }
}

const waitingMessages: Operation<'messages.waiting'> = (context, input) => sessionOf(context, input).messages.waiting()

const listNotices: Operation<'notices.list'> = (context, input) => sessionOf(context, input).notices.list()

const acknowledge: Operation<'notices.acknowledge'> = async (context, input) => ({
  acknowledged: await sessionOf(context, input).notices.acknowledge(input.ids),
})

export const turns = {
  'turns.start': start,
  'turns.open': open,
  'turns.get': get,
  'turns.cancel': cancel,
  'turns.stream': streamTurn,
  'chat.messages': chatMessages,
  'chat.send': sendChat,
  'chat.resume': resumeChat,
  'messages.list': listMessages,
  'messages.send': sendMessage,
  'messages.waiting': waitingMessages,
  'notices.list': listNotices,
  'notices.acknowledge': acknowledge,
}
