// Routes of the inbox, policy, connections and waits.

import { z } from 'zod'
import { changed, duration, flag, instant, json, jsonObject, name, page, reason, text } from '../schemas/fields.ts'
import { resolveAnswer } from '../schemas/calls.ts'
import {
  endedItem,
  connection,
  decideAnswer,
  explained,
  inboxContext,
  inboxItem,
  policyRule,
  rememberedRule,
} from '../schemas/people.ts'
import { answer } from './calls.ts'
import { route } from './route.ts'

const kinds = z.enum(['approval', 'finding', 'connection', 'question'])
/** A record would lose a field with this name without a word, and the rule would match more calls than it says. */
const conditions = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => typeof value !== 'object' || value === null || !Object.hasOwn(value, '__proto__'),
    '`when` must not have a field named __proto__',
  )
  .pipe(jsonObject)
  .meta({ type: 'object', additionalProperties: {} })

const remember = z.union([
  z.literal(true),
  z.strictObject({
    scope: z.enum(['session', 'principal', 'tenant']).exactOptional(),
    when: conditions.exactOptional(),
    for: duration.exactOptional(),
  }),
])

export const people = {
  'inbox.list': route({
    needs: 'read',
    summary: 'Lists what waits for people, oldest first.',
    input: z.strictObject({ ...page, session: name.exactOptional(), kind: kinds.exactOptional() }),
    output: z.array(inboxItem),
  }),
  'inbox.get': route({
    needs: 'read',
    summary: 'Shows one item. Its ETag is the fingerprint of what would run.',
    input: z.strictObject({ item: name }),
    output: inboxItem,
  }),
  'inbox.decided': route({
    needs: 'read',
    summary: 'Shows how an item ended that is no longer open: who decided it, or that it expired or was withdrawn.',
    input: z.strictObject({ item: name }),
    output: endedItem,
  }),
  'inbox.context': route({
    needs: 'read',
    summary: 'Shows what led to an item, why it asks, and the earlier decisions about its tool.',
    input: z.strictObject({ item: name }),
    output: inboxContext,
  }),
  'inbox.decide': route({
    needs: 'decide',
    summary: 'Decides an item; the first decision wins. `If-Match` or `fingerprint` binds it to what was shown.',
    input: z.strictObject({
      item: name,
      approve: z.literal(true).exactOptional(),
      deny: z.literal(true).exactOptional(),
      edit: json.exactOptional(),
      answer: json.exactOptional(),
      reason: reason.exactOptional(),
      remember: remember.exactOptional(),
      // Any text: one that no item can have is as stale as an old one.
      fingerprint: text.max(512).exactOptional(),
    }),
    output: decideAnswer,
  }),
  'rules.list': route({
    needs: 'read',
    summary: 'Lists the rules that people added when they decided.',
    input: z.strictObject({ session: name.exactOptional(), all: flag.exactOptional() }),
    output: z.array(rememberedRule),
  }),
  'rules.revoke': route({
    needs: 'decide',
    summary: 'Revokes a remembered rule.',
    input: z.strictObject({ rule: name, reason: reason.exactOptional() }),
    output: changed,
  }),
  'policy.rules': route({
    needs: 'operate',
    summary: 'Lists the rules of the configured policy that can match calls of the tenant.',
    input: z.strictObject({}),
    output: z.array(policyRule),
  }),
  'policy.explain': route({
    needs: 'read',
    summary: 'Explains whether a call would run, ask or be denied. Runs nothing.',
    input: z.strictObject({ session: name, tool: name, input: json.exactOptional() }),
    output: explained,
  }),
  'connections.list': route({
    needs: 'operate',
    summary: 'Lists connected accounts, without their tokens.',
    input: z.strictObject({}),
    output: z.array(connection),
  }),
  'connections.set': route({
    needs: 'decide',
    summary: 'Connects an account of the caller, and resumes the calls that wait for it.',
    input: z.strictObject({
      provider: name,
      token: z.string().min(1).max(65_536),
      shared: z.boolean().exactOptional().describe('For the whole tenant; needs the right `operate`'),
      expiresAt: instant.exactOptional(),
    }),
    output: z.strictObject({ resumed: z.number() }),
  }),
  'connections.remove': route({
    needs: 'decide',
    summary: 'Removes a connected account of the caller.',
    input: z.strictObject({ provider: name, shared: flag.exactOptional() }),
    output: changed,
  }),
  'waits.resolve': route({
    needs: 'anyone',
    summary: 'Answers a wait by its secret key. The key is the right to do so; it works once.',
    input: z.strictObject({ key: z.string().max(4_096), ...answer }),
    output: resolveAnswer,
  }),
}
