// Response schemas of messages, files, values, secrets, events and the store.

import { z } from 'zod'
import type {
  Erased,
  EraseResult,
  FeedEvent,
  FilePage,
  FileStat,
  HealthReport,
  Notice,
  SecretStat,
  SessionUsage,
  StoredMessage,
  ToolListing,
  UiMessage,
  ValueEntry,
  ValuePage,
  ValueStat,
} from '../../index.ts'
import { usage } from './calls.ts'
import { anyJson, describes, instant } from './fields.ts'

export const toolListing = describes<ToolListing>(
  z.strictObject({
    name: z.string(),
    id: z.string(),
    title: z.string().exactOptional(),
    description: z.string(),
    fingerprint: z.string().exactOptional(),
    hints: z.looseObject({}).exactOptional(),
    internal: z.boolean(),
    provider: z.string().exactOptional(),
    available: z.boolean(),
    quarantined: z.boolean(),
  }),
)

export const sessionUsage = describes<SessionUsage>(
  z.strictObject({ total: usage, models: z.record(z.string(), usage), tools: z.record(z.string(), usage) }),
)

export const storedMessage = describes<StoredMessage>(
  z.strictObject({
    number: z.number(),
    at: instant,
    turn: z.string().nullable(),
    message: z.looseObject({ role: z.string() }),
    model: z.string().exactOptional(),
    usage: usage.exactOptional(),
    finish: z.string().exactOptional(),
    unheard: z.array(z.string()).exactOptional(),
  }),
)

export const uiMessage = describes<UiMessage>(z.looseObject({ id: z.string(), role: z.string() }))

export const notice = describes<Notice>(
  z.strictObject({ id: z.string(), at: instant, about: z.string(), task: z.string().nullable(), text: z.string() }),
)

const stat = z.strictObject({
  path: z.string(),
  name: z.string(),
  kind: z.enum(['file', 'directory']),
  bytes: z.number(),
  hash: z.string().nullable(),
  mediaType: z.string().nullable(),
  createdAt: instant,
  updatedAt: instant,
  readonly: z.boolean(),
})
export const fileStat = describes<FileStat>(stat)
export const filePage = describes<FilePage>(z.strictObject({ entries: z.array(stat), more: z.boolean() }))

const valueFields = { key: z.string(), revision: z.number(), bytes: z.number(), updatedAt: instant }
export const valueStat = describes<ValueStat>(z.strictObject(valueFields))
export const valueEntry = describes<ValueEntry>(z.strictObject({ ...valueFields, value: anyJson }))
export const valuePage = describes<ValuePage>(
  z.strictObject({ entries: z.array(z.strictObject(valueFields)), more: z.boolean() }),
)

export const secretStat = describes<SecretStat>(
  z.strictObject({
    name: z.string(),
    setAt: instant,
    by: z.enum(['host', 'body']),
    tools: z.array(z.string()).nullable(),
  }),
)

export const feedEvent = describes<FeedEvent>(
  z.looseObject({
    type: z.string(),
    tenant: z.string(),
    session: z.string(),
    call: z.string(),
    at: instant,
    body: z.looseObject({}),
    position: z.number(),
    seq: z.number(),
    cursor: z.string(),
  }),
)

const erasedFields = { calls: z.number(), events: z.number(), attachments: z.number(), more: z.boolean() }
export const erased = describes<Erased>(z.strictObject(erasedFields))
export const eraseResult = describes<EraseResult>(z.strictObject({ ...erasedFields, traces: z.boolean() }))

export const health = describes<HealthReport>(
  z.looseObject({
    findings: z.array(z.looseObject({ kind: z.string(), says: z.string() })),
    unlisted: z.number(),
    open: z.record(z.string(), z.number()),
    more: z.boolean(),
  }),
)
