// Response schemas of the inbox, rules, connections and changed tool definitions.

import { z } from 'zod'
import type {
  ConnectionListed,
  DecideAnswer,
  Explained,
  InboxItem,
  QuarantinedTool,
  RememberedRule,
} from '../../index.ts'
import { anyJson, describes, instant } from './fields.ts'

const vote = z.strictObject({ by: z.string(), door: z.string(), at: instant, reason: z.string().exactOptional() })

export const inboxItem = describes<InboxItem>(
  z.strictObject({
    id: z.string(),
    kind: z.enum(['approval', 'finding', 'connection', 'question']),
    verbs: z.array(z.string()),
    tenant: z.string(),
    session: z.string(),
    principal: z.string().nullable(),
    tool: z.string(),
    title: z.string(),
    args: anyJson,
    preview: z.strictObject({
      summary: z.string(),
      details: z.string().exactOptional(),
      format: z.string().exactOptional(),
    }),
    effect: z.string(),
    reason: z.string(),
    fingerprint: z.string(),
    quorum: z.number(),
    approvals: z.array(vote),
    separate: z.boolean(),
    approvers: z.array(z.array(z.string())),
    askedAt: instant,
    expiresAt: instant,
    call: z.string(),
    callId: z.string(),
    under: z.array(z.string()),
    question: z.looseObject({ kind: z.string(), text: z.string() }).exactOptional(),
    provider: z.string().exactOptional(),
    interrupted: z.strictObject({ attempt: z.number(), startedAt: instant }).exactOptional(),
    final: z.literal(true).exactOptional(),
  }),
)

export const decideAnswer = describes<DecideAnswer>(
  z.discriminatedUnion('answer', [
    z.strictObject({
      answer: z.literal('accepted'),
      status: z.enum(['approved', 'denied', 'edited', 'answered', 'pending']),
      approvals: z.number(),
      quorum: z.number(),
      rule: z.string().exactOptional(),
    }),
    z.strictObject({ answer: z.literal('already_decided'), status: z.string(), by: z.array(vote) }),
    z.strictObject({ answer: z.literal('refused'), why: z.string(), message: z.string() }),
    z.strictObject({ answer: z.literal('invalid'), problems: z.array(z.string()) }),
    z.strictObject({ answer: z.literal('unknown') }),
  ]),
)

export const rememberedRule = describes<RememberedRule>(
  z.looseObject({
    id: z.string(),
    tenant: z.string(),
    session: z.string().nullable(),
    principal: z.string().nullable(),
    tool: z.string(),
    then: z.enum(['approve', 'deny']),
    votes: z.array(vote),
    madeAt: instant,
    until: instant,
  }),
)

export const explained = describes<Explained>(
  z.looseObject({ would: z.enum(['run', 'ask', 'be denied', 'be refused']), why: z.string() }),
)

export const connection = describes<ConnectionListed>(
  z.strictObject({
    provider: z.string(),
    tenant: z.string(),
    principal: z.string().nullable(),
    expiresAt: instant.nullable(),
    setAt: instant,
    by: z.string(),
  }),
)

export const quarantinedTool = describes<QuarantinedTool>(
  z.strictObject({
    provider: z.string(),
    tool: z.string(),
    was: z.string(),
    now: z.string(),
    difference: z.string(),
    since: instant,
  }),
)
