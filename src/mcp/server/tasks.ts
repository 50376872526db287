// The extension io.modelcontextprotocol/tasks: a call that takes long or waits is a task, and the client polls it.

import { ProtocolError } from '@modelcontextprotocol/server'
import type { CallDetails, CallOutcome, InboxItem } from '../../index.ts'
import { sessionOf } from './caller-sessions.ts'
import { decidableItem, decideByForm, formKey, formOf } from './decision-form.ts'
import { deliver, follow, type Followed, forget, recordedCall } from './follow-call.ts'
import type { ServerParts } from './server-parts.ts'
import { invalidParams } from './tool-list.ts'
import type { ToolRequest } from './tool-request.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** How often a client should ask for the state of a task. */
const pollIntervalMs = 1_000

interface TaskFacts {
  readonly taskId: string
  readonly createdAt: string
  readonly lastUpdatedAt: string
  readonly ttlMs: null
  readonly pollIntervalMs: number
}

export interface CreatedTask extends TaskFacts {
  readonly resultType: 'task'
  readonly status: 'working'
}

type Times = Pick<CallDetails, 'createdAt' | 'startedAt' | 'settledAt'>

const factsOf = (id: string, { createdAt, startedAt, settledAt }: Times): TaskFacts => ({
  taskId: id,
  createdAt: new Date(createdAt).toISOString(),
  lastUpdatedAt: new Date(settledAt ?? startedAt ?? createdAt).toISOString(),
  ttlMs: null,
  pollIntervalMs,
})

export async function createdTask({ clock }: ServerParts, { session, call }: Followed): Promise<CreatedTask> {
  const recorded = (await session.calls.get({ idempotencyKey: call.id })) ?? {
    createdAt: clock.now(),
    startedAt: null,
    settledAt: null,
  }
  return { resultType: 'task', status: 'working', ...factsOf(call.id, recorded) }
}

/** A task of another principal is unknown, as one that does not exist. */
async function taskOf(parts: ServerParts, { open }: Pick<ToolRequest, 'open'>, id: string): Promise<Followed> {
  const found = await recordedCall(parts, open.caller, sessionOf(parts.runtime, open.caller), id)
  if (found) return found
  throw new ProtocolError(invalidParams, 'There is no task with this id.')
}

/** A task that asks more at once is answered in several rounds. */
const maxAsked = 20

/** The items that the task waits for and that this caller decides, by the names of their requests. */
async function askedItems(
  parts: ServerParts,
  { open }: Pick<ToolRequest, 'open'>,
  { waits }: CallDetails,
): Promise<ReadonlyMap<string, InboxItem>> {
  const asked = waits.filter(({ state }) => state === 'open').slice(0, maxAsked)
  const items = await Promise.all(asked.map(({ id }) => decidableItem(parts.runtime, open.caller, id)))
  return new Map(items.flatMap((item) => (item ? [[formKey(item.id, waits), item]] : [])))
}

/** The call has ended: there is nothing to stop. */
const never = new AbortController().signal

type TaskRequest = Pick<ToolRequest, 'open' | 'client'>

export async function getTask(parts: ServerParts, request: TaskRequest, id: string): Promise<Record<string, unknown>> {
  const followed = await taskOf(parts, request, id)
  const recorded = (await followed.session.calls.get({ idempotencyKey: id })) as CallDetails
  const facts = factsOf(id, recorded)
  if (recorded.outcome !== null) {
    const outcome = (await follow(parts, followed, never, 'settled')) as CallOutcome
    const result = await deliver(parts, request.open, followed, outcome)
    return outcome.status === 'cancelled'
      ? { ...facts, status: 'cancelled' }
      : { ...facts, status: 'completed', result }
  }
  const items = request.client.forms ? await askedItems(parts, request, recorded) : new Map<string, InboxItem>()
  if (items.size === 0)
    return { ...facts, status: 'working', ...(recorded.state === 'parked' ? { statusMessage: 'It waits.' } : {}) }
  const forms = [...items].map(([key, item]) => [key, { method: 'elicitation/create', params: formOf(item) }] as const)
  return { ...facts, status: 'input_required', inputRequests: Object.fromEntries(forms) }
}

/** Answers to inputs that are not asked any more are ignored. */
export async function updateTask(
  parts: ServerParts,
  request: TaskRequest,
  id: string,
  responses: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const followed = await taskOf(parts, request, id)
  const recorded = (await followed.session.calls.get({ idempotencyKey: id })) as CallDetails
  for (const [key, item] of await askedItems(parts, request, recorded))
    if (Object.hasOwn(responses, key))
      await decideByForm(parts.runtime, request.open.caller, item, item.fingerprint, responses[key])
  return {}
}

export async function cancelTask(
  parts: ServerParts,
  request: TaskRequest,
  id: string,
): Promise<Record<string, unknown>> {
  const { open } = request
  const followed = await taskOf(parts, request, id)
  const { answer } = await followed.session.calls.cancel({ idempotencyKey: id }, { by: open.caller.principal })
  if (answer !== 'already_settled') open.onDelivered(() => forget(parts, open.caller, followed))
  return {}
}
