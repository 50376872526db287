// Response schemas of outcomes and calls.

import { z } from 'zod'
import type {
  CallDetails,
  CallOutcome,
  CallSummary,
  ClientCall,
  Diagnostics,
  OpenCall,
  RecentCallPage,
  Outcome,
  ResolveAnswer,
  TurnOutcome,
} from '../../index.ts'
import { anyJson, describes, instant, vote } from './fields.ts'

const retryAdvice = z.union([
  z.strictObject({ when: z.literal('never') }),
  z.strictObject({ when: z.literal('safe'), afterMs: z.number().exactOptional() }),
  z.strictObject({ when: z.literal('exhausted'), attempts: z.number() }),
])

export const failure = z.strictObject({
  class: z.string(),
  code: z.string(),
  message: z.string(),
  source: z.string(),
  retry: retryAdvice,
  raw: anyJson.exactOptional(),
  mayStillRun: z.boolean().exactOptional(),
})

const cancellation = z.strictObject({
  message: z.string(),
  source: z.string(),
  raw: anyJson.exactOptional(),
  mayStillRun: z.boolean().exactOptional(),
  withParent: z.literal(true).exactOptional(),
})

const success = {
  status: z.literal('success'),
  value: anyJson,
  raw: anyJson.exactOptional(),
  attachments: z.array(anyJson).exactOptional(),
  summary: z.string().exactOptional(),
  control: anyJson.exactOptional(),
  reveals: z.literal(true).exactOptional(),
}
const about = { note: z.string().exactOptional(), cost: z.number().exactOptional() }
const unknown = z.strictObject({ message: z.string(), startedAt: instant, evidence: anyJson })

/** The four ways in which a call ends, each with further fields. */
const outcomeWith = (fields: z.ZodRawShape): z.ZodType =>
  z.discriminatedUnion('status', [
    z.strictObject({ ...about, ...fields, ...success }),
    z.strictObject({ ...about, ...fields, status: z.literal('failure'), failure }),
    z.strictObject({ ...about, ...fields, status: z.literal('cancelled'), cancellation }),
    z.strictObject({ ...about, ...fields, status: z.literal('unknown'), unknown }),
  ])

export const outcome = describes<Outcome>(outcomeWith({}))

export const turnOutcome = describes<TurnOutcome>(outcomeWith({ turn: z.string() }))

/** A part of a result as a model reads it: a text or an attachment. */
export const modelPart = anyJson

const callFields = { callId: z.string(), name: z.string(), parts: z.array(modelPart), meta: anyJson.exactOptional() }

export const callOutcome = describes<CallOutcome>(
  outcomeWith({
    ...callFields,
    attempts: z.number(),
    queuedMs: z.number(),
    runningMs: z.number(),
    waitingMs: z.number(),
  }),
)

export const openCall = describes<OpenCall>(
  z.discriminatedUnion('status', [
    z.strictObject({
      status: z.literal('waiting'),
      for: z.string(),
      input: anyJson.exactOptional(),
      waitId: z.string(),
      until: instant,
      ...callFields,
    }),
    z.strictObject({ status: z.literal('running'), ...callFields }),
  ]),
)

export const callResult = z.union([callOutcome, openCall])

const summary = {
  uid: z.string(),
  callId: z.string(),
  batch: z.string(),
  occurrence: z.number(),
  idempotencyKey: z.string().exactOptional(),
  name: z.string(),
  meta: anyJson.exactOptional(),
  principal: z.string().nullable(),
  state: z.enum(['received', 'queued', 'running', 'parked', 'settled']),
  attempts: z.number(),
  createdAt: instant,
  startedAt: instant.nullable(),
  settledAt: instant.nullable(),
  outcome: outcome.nullable(),
}
export const callSummary = describes<CallSummary>(z.strictObject(summary))

/** Tokens and cost of model requests. */
export const usage = z.strictObject({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cachedTokens: z.number(),
  reasoningTokens: z.number(),
  cost: z.number().nullable(),
  times: z.number().exactOptional(),
})

const decision = z.strictObject({ verb: z.enum(['approve', 'deny', 'edit', 'answer']), votes: z.array(vote) })

const details = {
  ...summary,
  input: anyJson,
  requested: anyJson.nullable().describe('If the body gets another input'),
  takeovers: z.number(),
  worker: z.enum(['alive', 'lost']).nullable(),
  steps: z.array(z.strictObject({ id: z.string(), state: z.string(), at: instant, round: z.number() })),
  sleeps: z.array(z.strictObject({ from: instant, until: instant })),
  waits: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      createdAt: instant,
      deadline: instant,
      state: z.string(),
      decision: decision.exactOptional(),
    }),
  ),
  usage: usage.nullable(),
}
export const callDetails = describes<CallDetails>(z.strictObject(details))
export const foundCall = describes<CallDetails & { readonly tenant: string; readonly session: string }>(
  z.strictObject({ ...details, tenant: z.string(), session: z.string() }),
)

export const recentCalls = describes<RecentCallPage>(
  z.strictObject({
    calls: z.array(
      z.strictObject({
        uid: z.string(),
        tenant: z.string(),
        session: z.string(),
        callId: z.string(),
        batch: z.string(),
        name: z.string(),
        principal: z.string().nullable(),
        state: z.string(),
        status: z.string().nullable(),
        message: z.string().nullable(),
        code: z.string().nullable(),
        attempts: z.number(),
        createdAt: instant,
        startedAt: instant.nullable(),
        settledAt: instant.nullable(),
      }),
    ),
    next: z.string().nullable(),
  }),
)

const segment = z.strictObject({
  kind: z.enum(['queued', 'person', 'external', 'running', 'sleeping', 'backoff', 'lost']),
  from: instant,
  to: instant,
  attempt: z.number().exactOptional(),
})
const mark = z.strictObject({
  kind: z.enum(['silent', 'takeover', 'lost', 'cancelling', 'late']),
  at: instant,
  text: z.string(),
})

/** A call and the calls under it, in the order of their creation, with how their time passed. */
export const timeline = z.strictObject({
  rows: z.array(
    z.strictObject({
      uid: z.string(),
      name: z.string(),
      depth: z.number(),
      state: z.string(),
      status: z.string().nullable(),
      code: z.string().nullable(),
      from: instant,
      to: instant.describe('Now, while the call is open'),
      isOpen: z.boolean(),
      segments: z.array(segment),
      marks: z.array(mark),
    }),
  ),
  events: z.array(z.strictObject({ type: z.string(), call: z.string(), at: instant, body: z.looseObject({}) })),
  omitted: z.number().describe('Calls and events beyond the limits'),
})

export const clientCall = describes<ClientCall>(
  z.strictObject({
    call: z.string(),
    callId: z.string(),
    batch: z.string(),
    occurrence: z.number(),
    name: z.string(),
    input: anyJson,
    waitId: z.string(),
    until: instant,
  }),
)
export const diagnostics = describes<Diagnostics>(
  z.strictObject({
    what: z.string(),
    tool: z.string(),
    callId: z.string(),
    call: z.string(),
    attempt: z.number(),
    causes: z.array(z.string()),
  }),
)

/** The answer to `waits.resolve` and `clientCalls.answer`. */
export const resolveAnswer = describes<ResolveAnswer>(
  z.discriminatedUnion('answer', [
    z.strictObject({ answer: z.literal('accepted') }),
    z.strictObject({ answer: z.literal('already_resolved'), terminal: anyJson }),
    z.strictObject({ answer: z.literal('unknown_or_revoked') }),
    z.strictObject({ answer: z.literal('invalid'), problems: z.array(z.string()) }),
  ]),
)
