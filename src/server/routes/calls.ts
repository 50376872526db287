// Routes of calls, batches, outputs and client calls.

import { z } from 'zod'
import {
  callDetails,
  callResult,
  callSummary,
  clientCall,
  diagnostics,
  foundCall,
  recentCalls,
  resolveAnswer,
  timeline,
} from '../schemas/calls.ts'
import {
  duration,
  inSession,
  instant,
  json,
  limit,
  name,
  page,
  reason,
  text,
  waitTime,
  wholeNumber,
} from '../schemas/fields.ts'
import { route } from './route.ts'

const timeouts = z.union([
  duration,
  z.strictObject({
    attempt: duration.exactOptional(),
    idle: duration.exactOptional(),
    total: duration.exactOptional(),
    queue: duration.exactOptional(),
    grace: duration.exactOptional(),
  }),
])

const status = z
  .enum(['received', 'queued', 'running', 'parked', 'settled', 'success', 'failure', 'cancelled', 'unknown'])
  .exactOptional()

/** How long the request waits: until the calls are settled, until they wait for people, or for a time. */
const until = z.union([z.enum(['accepted', 'settled', 'waiting']), waitTime])

const call = {
  name,
  input: json.exactOptional(),
  meta: json.exactOptional(),
  timeout: timeouts.exactOptional(),
  deadline: instant.exactOptional(),
}

export const answer = {
  value: json.exactOptional(),
  failure: z.strictObject({ code: name, message: text }).exactOptional(),
  cancelled: text.exactOptional(),
}

export const calls = {
  'calls.run': route({
    needs: 'call',
    summary: 'Runs one call and waits for its outcome, by default until it is settled or waits for a person.',
    input: z.strictObject({
      ...inSession,
      ...call,
      id: name.exactOptional(),
      idempotencyKey: name.exactOptional(),
      turn: name.exactOptional(),
      until: until.exactOptional(),
    }),
    output: callResult,
    idempotencyField: 'idempotencyKey',
  }),
  'calls.list': route({
    needs: 'read',
    summary: 'Lists the calls of a session, oldest first.',
    input: z.strictObject({
      ...inSession,
      ...page,
      status,
      tool: name.exactOptional(),
    }),
    output: z.array(callSummary),
  }),
  'calls.get': route({
    needs: 'read',
    summary: 'Reads a call of a session by its uid, with input, outcome, steps and waits.',
    input: z.strictObject({ ...inSession, call: name }),
    output: callDetails,
  }),
  'calls.cancel': route({
    needs: 'call',
    summary: 'Cancels a call by its uid.',
    input: z.strictObject({ ...inSession, call: name, reason: reason.exactOptional() }),
    output: z.strictObject({ answer: z.enum(['cancelled', 'already_settled']) }),
  }),
  'calls.find': route({
    needs: 'read',
    summary: 'Reads a call by its uid alone.',
    input: z.strictObject({ call: name }),
    output: foundCall,
  }),
  'calls.recent': route({
    needs: 'read',
    summary: 'Lists the newest calls of all sessions, newest first, without arguments and results.',
    input: z.strictObject({
      session: name.exactOptional(),
      status,
      tool: name.exactOptional(),
      since: wholeNumber(0).exactOptional().describe('Milliseconds since 1970, inclusive'),
      until: wholeNumber(0).exactOptional().describe('Milliseconds since 1970, exclusive'),
      before: name.exactOptional().describe('`next` of the previous page'),
      limit: limit().exactOptional(),
    }),
    output: recentCalls,
  }),
  'calls.timeline': route({
    needs: 'read',
    summary: 'Shows how the time of a call passed: queued, waiting, running, with the calls under it and its events.',
    input: z.strictObject({ call: name }),
    output: timeline,
  }),
  'calls.diagnostics': route({
    needs: 'operate',
    summary: 'Reads the internal error of a call, which models and the feed never see.',
    input: z.strictObject({ call: name }),
    output: diagnostics.nullable(),
  }),
  'batches.run': route({
    needs: 'call',
    summary: 'Runs the calls of one model message in order. The same batch again joins it.',
    input: z.strictObject({
      ...inSession,
      calls: z.array(z.strictObject({ ...call, id: name, idempotencyKey: name.exactOptional() })).max(1_000),
      batch: name.exactOptional(),
      turn: name.exactOptional(),
      onFailure: z.enum(['continue', 'stop']).exactOptional(),
      background: duration.exactOptional(),
      until: until.exactOptional(),
    }),
    output: z.strictObject({ batch: z.string(), outcomes: z.array(callResult) }),
    idempotencyField: 'batch',
  }),
  'outputs.read': route({
    needs: 'read',
    summary: 'Reads a whole result that the model saw shortened, by its handle.',
    input: z.strictObject({
      ...inSession,
      handle: name,
      offset: wholeNumber(0).exactOptional(),
      limit: limit(1_000_000).exactOptional(),
    }),
    output: z.strictObject({
      text: z.string(),
      offset: z.number(),
      nextOffset: z.number().nullable(),
      totalBytes: z.number(),
    }),
  }),
  'clientCalls.list': route({
    needs: 'read',
    summary: 'Lists the calls of a session that the client has to run.',
    input: z.strictObject(inSession),
    output: z.array(clientCall),
  }),
  'clientCalls.answer': route({
    needs: 'call',
    summary: 'Gives the result of a call that the client ran.',
    input: z.strictObject({
      ...inSession,
      callId: name,
      ...answer,
      batch: name.exactOptional(),
      occurrence: wholeNumber(0).exactOptional(),
      waitId: name.exactOptional(),
    }),
    output: resolveAnswer,
  }),
}
