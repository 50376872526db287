// Operations of calls, batches, outputs and client calls.

import { randomUUID } from 'node:crypto'
import type { Answer, CallAsk, CallOutcome, Duration, OpenCall, Run, RunOptions } from '../../index.ts'
import { found, type Operation, type OperationContext, sessionOf, waitMs, within, without } from './context.ts'

type Until = 'accepted' | 'settled' | 'waiting' | Duration

/**
 * Runs calls and waits as long as `until` says. They go on if the client leaves: the same request again joins them.
 */
async function run(
  context: OperationContext,
  of: { readonly session: string },
  calls: readonly CallAsk[],
  options: Omit<RunOptions, 'until'>,
  until: Until,
): Promise<(CallOutcome | OpenCall)[]> {
  const session = sessionOf(context, of)
  /** Joins the calls if they have started, and returns at once. */
  const now = (): Run<(CallOutcome | OpenCall)[]> => session.run(calls, { ...options, until: 0 })
  if (until === 'accepted') {
    const started = now()
    await started.accepted
    return started
  }
  const ended: Promise<(CallOutcome | OpenCall)[]> =
    until === 'waiting' ? session.run(calls, { ...options, until }) : session.run(calls, options)
  return (await within(context, waitMs(until), ended)) ?? now()
}

/** Only a model may see what a tool reveals to it on purpose. */
const asShown = <T extends CallOutcome | OpenCall>(outcome: T): T =>
  outcome.status === 'success' && outcome.reveals
    ? { ...outcome, value: '[redacted]', parts: [{ type: 'text', text: '[redacted]' }] }
    : outcome

const runCall: Operation<'calls.run'> = async (context, input) => {
  const { session, id = `call_${randomUUID()}`, turn, until = 'waiting', ...call } = input
  const [outcome] = await run(context, { session }, [{ id, ...call }], turn === undefined ? {} : { turn }, until)
  return asShown(outcome as CallOutcome | OpenCall)
}

const runBatch: Operation<'batches.run'> = async (context, input) => {
  const { session, calls, batch = `batch_${randomUUID()}`, until = 'waiting', ...options } = input
  const outcomes = await run(context, { session }, calls, { batch, ...options }, until)
  return { batch, outcomes: outcomes.map(asShown) }
}

const list: Operation<'calls.list'> = (context, input) =>
  sessionOf(context, input).calls.list({ ...without(input, 'session'), redacted: true })

const get: Operation<'calls.get'> = async (context, input) =>
  found(await sessionOf(context, input).calls.get({ uid: input.call }, { redacted: true }), 'call')

const cancel: Operation<'calls.cancel'> = async (context, { session, call, ...how }) => {
  const by = context.caller.principal
  const answer = await sessionOf(context, { session }).calls.cancel({ uid: call }, { ...how, by })
  const known = answer.answer === 'cancelled' || answer.answer === 'already_settled' ? answer.answer : null
  return { answer: found(known, 'call') }
}

const find: Operation<'calls.find'> = async ({ runtime, caller }, { call }) =>
  found(await runtime.calls.get(call, { tenant: caller.tenant, redacted: true }), 'call')

const recent: Operation<'calls.recent'> = ({ runtime, caller }, input) =>
  runtime.calls.recent({ ...input, tenant: caller.tenant })

/** A page shows no more; the export of the call has everything. */
const timelineLimits = { message: 0, call: 200, task: 0, schedule: 0, inbox: 0, event: 2_000, characters: 4_000_000 }

const timeline: Operation<'calls.timeline'> = async (context, { call }) => {
  const { session } = await find(context, { call })
  const { runtime, caller, clock } = context
  const now = clock.now()
  const request = { tenant: caller.tenant, session, call, now, limits: timelineLimits }
  const [{ collectExport }, { callRows }] = await Promise.all([
    import('../export/collect-export.ts'),
    import('../export/call-view.ts'),
  ])
  const { calls, events, omitted } = found(await collectExport(runtime, request), 'call')
  const rows = callRows(calls, events, now).map(({ call, line, depth }) => {
    const { from, to, isOpen, segments, marks } = line
    const { uid, name, state, outcome } = call
    const status = outcome?.status ?? null
    const code = outcome?.status === 'failure' ? outcome.failure.code : null
    return { uid, name, depth, state, status, code, from, to, isOpen, segments: [...segments], marks: [...marks] }
  })
  const shown = events.map(({ type, call, at, body }) => ({ type, call, at, body: { ...body } }))
  return { rows, events: shown, omitted: omitted.call + omitted.event }
}

const diagnostics: Operation<'calls.diagnostics'> = async (context, input) => {
  await find(context, input)
  return (await context.runtime.diagnostics(input.call)) ?? null
}

const readOutput: Operation<'outputs.read'> = (context, input) =>
  sessionOf(context, input).outputs.read(input.handle, without(input, 'session', 'handle'))

const listClientCalls: Operation<'clientCalls.list'> = (context, input) =>
  sessionOf(context, input).pendingClientCalls()

const answerClientCall: Operation<'clientCalls.answer'> = (context, input) => {
  const { batch, occurrence, waitId, ...answer } = without(input, 'session', 'callId')
  const at = {
    ...(batch === undefined ? {} : { batch }),
    ...(occurrence === undefined ? {} : { occurrence }),
    ...(waitId === undefined ? {} : { waitId }),
  }
  return sessionOf(context, input).answer(input.callId, answer as Answer, at)
}

export const calls = {
  'calls.run': runCall,
  'calls.list': list,
  'calls.get': get,
  'calls.cancel': cancel,
  'calls.recent': recent,
  'calls.find': find,
  'calls.timeline': timeline,
  'calls.diagnostics': diagnostics,
  'batches.run': runBatch,
  'outputs.read': readOutput,
  'clientCalls.list': listClientCalls,
  'clientCalls.answer': answerClientCall,
}
