// Routes of events, the audit, workers, health, retention and tokens.

import { z } from 'zod'
import { changed, duration, flag, inSession, instant, limit, name } from '../schemas/fields.ts'
import { erased, feedEvent, health } from '../schemas/data.ts'
import { noJson, route } from './route.ts'

const feed = {
  after: name.exactOptional().describe("A cursor, or 'now'. `Last-Event-ID` has the same meaning"),
  live: flag.exactOptional().describe('Also deltas, progress and output'),
  internal: flag.exactOptional(),
  narrate: name.exactOptional().describe("A language, such as 'en'"),
}

const roles = z.array(z.enum(['viewer', 'caller', 'approver', 'operator', 'admin'])).min(1)
const tokenFacts = {
  id: z.string(),
  name: z.string(),
  roles: z.array(z.string()),
  tenant: z.string().nullable(),
  principal: z.string(),
  createdAt: instant,
  createdBy: z.string().nullable(),
  expiresAt: instant.nullable(),
  revokedAt: instant.nullable(),
}

export const store = {
  'events.stream': route({
    needs: 'read',
    kind: 'events',
    summary: 'Streams the events of all sessions of the tenant.',
    input: z.strictObject(feed),
    output: noJson,
  }),
  'sessions.events': route({
    needs: 'read',
    kind: 'events',
    summary: 'Streams the events of a session: recorded ones after the cursor, then new ones.',
    input: z.strictObject({ ...inSession, ...feed }),
    output: noJson,
  }),
  'audit.list': route({
    needs: 'operate',
    summary: 'Lists who decided, revoked, connected or erased something, newest first.',
    input: z.strictObject({
      before: name.exactOptional().describe('`next` of the previous page'),
      limit: limit(1_000).exactOptional(),
    }),
    output: z.strictObject({
      events: z.array(feedEvent),
      next: z.string().nullable().describe('The cursor of the next page; null at the end'),
    }),
  }),
  'workers.list': route({
    needs: 'operate',
    wholeStore: true,
    summary: 'Lists the workers that hold a lease.',
    input: z.strictObject({}),
    output: z.array(z.strictObject({ id: z.string(), leaseMs: z.number() })),
  }),
  'health.get': route({
    needs: 'operate',
    wholeStore: true,
    summary: 'Reports open calls that are stuck or cannot be continued here, and why.',
    input: z.strictObject({}),
    output: health,
  }),
  'store.prune': route({
    needs: 'admin',
    wholeStore: true,
    summary: 'Deletes calls that settled long ago, with all their data.',
    input: z.strictObject({ olderThan: duration, limit: limit(1_000_000).exactOptional() }),
    output: erased,
  }),
  'tokens.list': route({
    needs: 'admin',
    summary: 'Lists the tokens of the tenant, without their text.',
    input: z.strictObject({}),
    output: z.array(z.strictObject(tokenFacts)),
  }),
  'tokens.create': route({
    needs: 'admin',
    summary: 'Creates a token. Its text is only in this response.',
    input: z.strictObject({
      name,
      roles,
      principal: name.exactOptional(),
      expiresIn: duration.exactOptional(),
      allTenants: z.boolean().exactOptional().describe('Only a token for all tenants may create another one'),
    }),
    output: z.strictObject({ ...tokenFacts, token: z.string() }),
  }),
  'tokens.revoke': route({
    needs: 'admin',
    summary: 'Revokes a token. Its open streams end within one heartbeat.',
    input: z.strictObject({ token: name }),
    output: changed,
  }),
  'me.get': route({
    needs: 'read',
    summary: 'Shows whom the token stands for and what it allows.',
    input: z.strictObject({}),
    output: z.strictObject({
      tenant: z.string(),
      principal: z.string(),
      permissions: z.array(z.string()),
      allTenants: z.boolean(),
      command: z.string().describe('How the CLI is started on the machine of the server'),
    }),
  }),
}
