// Response schemas of tasks, schedules and triggers.

import { z } from 'zod'
import type {
  EmittedEvent,
  Schedule,
  ScheduleSlot,
  SignalAnswer,
  Subscription,
  Task,
  TaskEventRecord,
  TaskMessage,
  SchedulePage,
  StoppedSchedules,
} from '../../index.ts'
import { outcome } from './calls.ts'
import { anyJson, describes, instant } from './fields.ts'

export const task = describes<Task>(
  z.strictObject({
    id: z.string(),
    kind: z.string(),
    title: z.string(),
    tool: z.string(),
    state: z.string(),
    status: z.string().nullable(),
    progress: z.looseObject({}).nullable(),
    inputRequest: z.looseObject({ id: z.string(), prompt: z.string() }).nullable(),
    artifacts: z.array(z.looseObject({ name: z.string() })),
    summary: z.string().nullable(),
    outcome: outcome.nullable(),
    logPath: z.string().nullable(),
    resultPath: z.string().nullable(),
    wake: z.string(),
    parent: z.string().nullable(),
    attempt: z.number(),
    createdAt: instant,
    startedAt: instant.nullable(),
    finishedAt: instant.nullable(),
    updatedAt: instant,
    call: z.string(),
    meta: anyJson.exactOptional(),
    links: z.looseObject({}),
  }),
)

/** Rows of tasks, without what they produced. */
export const recentTasks = z.strictObject({
  tasks: z.array(
    z.strictObject({
      tenant: z.string(),
      session: z.string(),
      id: z.string(),
      title: z.string(),
      tool: z.string(),
      state: z.string(),
      status: z.string().nullable(),
      summary: z.string().nullable(),
      progress: z.looseObject({}).nullable(),
      asks: z.string().nullable().describe('What it asks its session'),
      call: z.string(),
      createdAt: instant,
      finishedAt: instant.nullable(),
    }),
  ),
  next: z.string().nullable(),
})

export const taskMessage = describes<TaskMessage>(
  z.strictObject({
    id: z.string(),
    direction: z.enum(['in', 'out']),
    text: z.string(),
    data: anyJson.exactOptional(),
    inReplyTo: z.string().exactOptional(),
    asks: z.literal(true).exactOptional(),
    at: instant,
  }),
)

export const taskEvent = describes<TaskEventRecord>(
  z.strictObject({ number: z.number(), type: z.string(), payload: anyJson, at: instant }),
)

export const signalAnswer = describes<SignalAnswer>(
  z.union([
    z.strictObject({ accepted: z.literal(true), number: z.number() }),
    z.strictObject({ accepted: z.literal(false), why: z.string() }),
  ]),
)

export const schedule = describes<Schedule>(
  z.looseObject({
    id: z.string(),
    title: z.string(),
    state: z.enum(['active', 'paused', 'ended']),
    nextAt: instant.nullable(),
    lastAt: instant.nullable(),
  }),
)

const listedSchedules = z.array(
  z.looseObject({
    tenant: z.string(),
    session: z.string(),
    id: z.string(),
    title: z.string(),
    state: z.string(),
    nextAt: instant.nullable(),
    lastAt: instant.nullable(),
  }),
)
export const upcomingSchedules = describes<SchedulePage>(
  z.strictObject({ schedules: listedSchedules, next: z.string().nullable() }),
)
export const stoppedSchedules = describes<StoppedSchedules>(
  z.strictObject({ schedules: listedSchedules, complete: z.boolean().describe('False: there may be more') }),
)

export const scheduleSlot = describes<ScheduleSlot>(
  z.strictObject({
    slot: instant,
    firedAt: instant,
    outcome: z.enum(['started', 'missed', 'overlap', 'failed']),
    task: z.string().exactOptional(),
    byHand: z.literal(true).exactOptional(),
    why: z.string().exactOptional(),
  }),
)

export const subscription = describes<Subscription>(
  z.strictObject({
    id: z.string(),
    event: z.string(),
    tool: z.string().nullable(),
    payloadTo: z.string().nullable(),
    message: z.string().nullable(),
    title: z.string(),
    wake: z.string(),
    enabled: z.boolean(),
    createdAt: instant,
    input: anyJson,
  }),
)

export const emittedEvent = describes<EmittedEvent>(
  z.strictObject({
    event: z.string(),
    key: z.string(),
    at: instant,
    deliveries: z.array(z.strictObject({ session: z.string(), subscription: z.string(), task: z.string().nullable() })),
    again: z.boolean(),
  }),
)
