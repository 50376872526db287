// Response schemas of the inbox, rules, connections and changed tool definitions.

import { z } from 'zod'
import type {
  ConnectionListed,
  DecideAnswer,
  Explained,
  InboxItem,
  PolicyRule,
  ProviderState,
  QuarantinedTool,
  RememberedRule,
} from '../../index.ts'
import { storedMessage } from './data.ts'
import { anyJson, describes, instant, vote } from './fields.ts'

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

export const endedItem = z.strictObject({
  call: z.string(),
  session: z.string(),
  status: z.enum(['approved', 'denied', 'edited', 'answered', 'expired', 'withdrawn']),
  by: z.array(vote),
})

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

export const policyRule = describes<PolicyRule>(
  z.strictObject({
    layer: z.number(),
    index: z.number(),
    rule: z.looseObject({ then: z.enum(['allow', 'ask', 'deny']) }),
  }),
)

export const providerState = describes<ProviderState>(
  z.strictObject({
    name: z.string(),
    trusted: z.boolean(),
    available: z.boolean(),
    problem: z.string().nullable(),
    since: instant,
    tools: z.number(),
    quarantined: z.number(),
    details: z.strictObject({
      transport: z.string().exactOptional(),
      protocol: z.string().exactOptional(),
      latencyMs: z.number().exactOptional().describe('Of its last listing'),
    }),
    reconnectable: z.boolean(),
  }),
)

export const explained = describes<Explained>(
  z.looseObject({ would: z.enum(['run', 'ask', 'be denied', 'be refused']), why: z.string() }),
)

export const inboxContext = z.strictObject({
  above: z
    .array(
      z.strictObject({
        uid: z.string(),
        name: z.string(),
        session: z.string(),
        isTurn: z.boolean(),
      }),
    )
    .describe('The turn and the calls above the call, outermost first'),
  messages: z.array(storedMessage).describe('The last messages of the turn'),
  explained: explained.nullable().describe('What the policy of now says; null if no policy is involved'),
  earlier: z
    .array(
      z.strictObject({
        call: z.string(),
        session: z.string(),
        args: anyJson,
        verb: z.enum(['approve', 'deny', 'edit', 'answer']),
        votes: z.array(vote),
        status: z.string().nullable(),
      }),
    )
    .describe('Decisions about the last calls of the tool, newest first'),
})

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
