// Routes of sessions and tools.

import { z } from 'zod'
import { changed, inSession, instant, jsonObject, name, page, reason, text } from '../schemas/fields.ts'
import { eraseResult, sessionUsage, toolListing } from '../schemas/data.ts'
import { providerState, quarantinedTool } from '../schemas/people.ts'
import { noJson, route } from './route.ts'

export const sessions = {
  'tools.list': route({
    needs: 'read',
    summary: 'Lists the tools of the runtime, sorted by name.',
    input: z.strictObject({}),
    output: z.array(toolListing),
  }),
  'tools.get': route({
    needs: 'read',
    summary: 'Shows a tool as a model sees it, with the JSON Schema of its input.',
    input: z.strictObject({ tool: name, session: name.exactOptional() }),
    output: z.strictObject({
      name: z.string(),
      description: z.string(),
      input: jsonObject,
      output: jsonObject.nullable(),
      hints: z.looseObject({}),
      available: z.boolean(),
    }),
  }),
  'providers.list': route({
    needs: 'operate',
    wholeStore: true,
    summary: 'Lists the providers of tools, such as MCP servers, with their state.',
    input: z.strictObject({}),
    output: z.array(providerState),
  }),
  'providers.reconnect': route({
    needs: 'operate',
    wholeStore: true,
    summary: 'Ends the connection to a provider and makes a new one. A stdio server is started again.',
    input: z.strictObject({ provider: name }),
    output: changed,
  }),
  'quarantine.list': route({
    needs: 'operate',
    wholeStore: true,
    summary: 'Lists the tools of providers whose definition has changed since it was accepted.',
    input: z.strictObject({}),
    output: z.array(quarantinedTool),
  }),
  'quarantine.accept': route({
    needs: 'operate',
    wholeStore: true,
    summary: 'Accepts the changed definition of a tool.',
    input: z.strictObject({ provider: name, tool: name, fingerprint: text.max(200) }),
    output: changed,
  }),
  'sessions.list': route({
    needs: 'read',
    summary: 'Lists the sessions that have calls, in a stable order.',
    input: z.strictObject(page),
    output: z.array(z.strictObject({ tenant: z.string(), session: z.string(), lastCallAt: instant })),
  }),
  'sessions.get': route({
    needs: 'read',
    summary: 'Shows a session: its open turn, its open calls and its model usage.',
    input: z.strictObject(inSession),
    output: z.strictObject({
      tenant: z.string(),
      session: z.string(),
      openTurn: z.string().nullable(),
      inbox: z.number().describe('At most 1,000 are counted'),
      usage: sessionUsage,
    }),
  }),
  'sessions.cancel': route({
    needs: 'call',
    summary: 'Cancels all open calls of a session.',
    input: z.strictObject({ ...inSession, reason: reason.exactOptional() }),
    output: z.strictObject({ cancelled: z.number() }),
  }),
  'sessions.end': route({
    needs: 'call',
    summary: 'Ends a session: it accepts no new tasks, and its open ones are cancelled or continue.',
    input: z.strictObject({
      ...inSession,
      tasks: z.enum(['cancel', 'abandon']).exactOptional(),
      reason: reason.exactOptional(),
    }),
    output: changed,
  }),
  'sessions.erase': route({
    needs: 'admin',
    summary: 'Erases everything that is recorded of a session.',
    input: z.strictObject({ ...inSession, open: z.enum(['refuse', 'cancel']).exactOptional() }),
    output: eraseResult,
  }),
  'sessions.export': route({
    needs: 'read',
    kind: 'download',
    summary: 'Exports a session, or one of its calls, as JSON lines or as one HTML page.',
    input: z.strictObject({
      ...inSession,
      format: z.enum(['jsonl', 'html']).exactOptional(),
      call: name.exactOptional(),
    }),
    output: noJson,
  }),
}
