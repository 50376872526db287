// A valid input for every operation of the route table. The type makes an operation without one an error.

import { randomUUID } from 'node:crypto'
import type { OperationName } from '../../../src/server/endpoints.ts'
import { endpoints } from '../../../src/server/endpoints.ts'
import { routes } from '../../../src/server/routes/routes.ts'
import type { TenantData } from './tenant-data.ts'

export type Fields = Record<string, unknown>
/** A sample of an operation about one tenant's objects. */
export interface Sample {
  /** Makes the fields of the path, and of the query or the body. */
  readonly fields: (data: TenantData) => Fields | Promise<Fields>
  /** The status for a token with the right. Default: 200. */
  readonly status?: number
  /** The status for ids that name nothing. Default: as for a real one, because any session id names an empty session. */
  readonly missing?: number
  /** The bytes of an upload. */
  readonly bytes?: string
}

const inSession =
  (more: (data: TenantData) => Fields | Promise<Fields> = () => ({})) =>
  async (data: TenantData): Promise<Fields> => ({ session: data.session, ...(await more(data)) })
const plain = (fields: Fields = {}): Sample => ({ fields: () => fields })
const list: Sample = { fields: inSession() }
const of = (
  more: (data: TenantData) => Fields | Promise<Fields>,
  terms: Omit<Sample, 'fields'> = { missing: 404 },
): Sample => ({ fields: inSession(more), ...terms })

const digest = `sha256:${'0'.repeat(64)}`

export const samples: Readonly<Record<OperationName, Sample>> = {
  'tools.list': plain(),
  'tools.get': plain({ tool: 'lookup' }),
  'providers.list': plain(),
  'providers.reconnect': { ...plain({ provider: 'none' }), status: 404, missing: 404 },
  'quarantine.list': plain(),
  'quarantine.accept': { ...plain({ provider: 'none', tool: 'none', fingerprint: digest }), status: 404, missing: 404 },

  'sessions.list': plain({ limit: 1_000 }),
  'sessions.get': { fields: async (data) => ({ session: await data.newSession() }), missing: 404 },
  'sessions.cancel': { fields: async (data) => ({ session: await data.newSession(), reason: 'enough' }) },
  'sessions.end': { fields: async (data) => ({ session: await data.newSession() }) },
  'sessions.erase': { fields: async (data) => ({ session: await data.newSession() }) },
  'sessions.export': { fields: async (data) => ({ session: await data.newSession(), format: 'jsonl' }) },

  'calls.run': of(() => ({ name: 'lookup', input: { text: 'hello' }, idempotencyKey: randomUUID() }), {}),
  'calls.list': of(() => ({ limit: 1_000 }), {}),
  'calls.get': of(({ call }) => ({ call })),
  'calls.cancel': of(async (data) => ({ call: (await data.approval()).call })),
  'calls.recent': plain({ since: 1, until: 2_000_000_000_000, limit: 1_000 }),
  'calls.timeline': { fields: ({ call }) => ({ call }), missing: 404 },
  'calls.find': { fields: ({ call }) => ({ call }), missing: 404 },
  'calls.diagnostics': { fields: ({ call }) => ({ call }), missing: 404 },
  'batches.run': of(
    () => ({ calls: [{ id: 'a', name: 'lookup', input: { text: 'hello' } }], batch: randomUUID() }),
    {},
  ),
  'outputs.read': of(({ output }) => ({ handle: output })),
  'clientCalls.list': list,
  'clientCalls.answer': of(async (data) => ({ callId: await data.clientCall(), value: 'picked' })),

  'turns.start': of(() => ({ message: 'Hello', until: '10s', id: randomUUID() }), {}),
  'turns.open': list,
  'turns.get': of(({ turn }) => ({ turn })),
  'turns.stream': of(({ turn }) => ({ turn })),
  'turns.cancel': of(({ turn }) => ({ turn })),
  'chat.messages': list,
  'chat.send': of(
    () => ({
      id: 'chat',
      trigger: 'submit-message',
      messages: [{ id: randomUUID(), role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    }),
    {},
  ),
  'chat.resume': { fields: inSession(() => ({ chat: 'chat' })), status: 204 },
  'messages.list': list,
  'messages.send': of(() => ({ message: 'Hello', when: 'after', id: randomUUID() }), {}),
  'messages.waiting': list,
  'notices.list': list,
  'notices.acknowledge': of(async (data) => ({ ids: [await data.notice()] }), {}),

  'inbox.list': plain({ limit: 1_000 }),
  'inbox.get': { fields: async (data) => ({ item: (await data.approval()).id }), missing: 404 },
  'inbox.context': { fields: async (data) => ({ item: (await data.approval()).id }), missing: 404 },
  'inbox.decided': { fields: async (data) => ({ item: await data.endedItem() }), missing: 404 },
  'inbox.decide': {
    fields: async (data) => {
      const { id: item, fingerprint } = await data.approval()
      return { item, approve: true, fingerprint }
    },
    missing: 404,
  },
  'rules.list': plain(),
  'rules.revoke': { fields: async (data) => ({ rule: await data.newRule(), reason: 'Too wide' }) },
  'policy.rules': plain(),
  'policy.explain': of(() => ({ tool: 'refund', input: { order: 'A1', cents: 1 } }), {}),
  'connections.list': plain(),
  'connections.set': plain({ provider: 'gitlab', token: 'token-of-an-account' }),
  'connections.remove': plain({ provider: 'bitbucket' }),
  'waits.resolve': { fields: async (data) => ({ key: await data.waitKey(), value: true }), missing: 404 },

  'tasks.recent': plain({ limit: 200 }),
  'tasks.list': list,
  'tasks.start': of(() => ({ tool: 'report', id: randomUUID() }), {}),
  'tasks.get': of(({ task }) => ({ task })),
  'tasks.result': of(({ task }) => ({ task })),
  'tasks.cancel': of(async (data) => ({ task: await data.openTurnTask() })),
  'tasks.signal': of(({ openTask }) => ({ task: openTask, name: 'go', value: 1, key: randomUUID() })),
  'tasks.message': of(({ openTask }) => ({ task: openTask, text: 'Hello', key: randomUUID() })),
  'tasks.messages': of(({ task }) => ({ task })),
  'tasks.events': of(({ task }) => ({ task })),
  'schedules.upcoming': plain({ limit: 200 }),
  'schedules.stopped': plain({ limit: 200 }),
  'schedules.list': list,
  'schedules.create': of(() => ({ tool: 'report', cron: '0 0 1 1 *', id: randomUUID() }), {}),
  'schedules.get': of(({ schedule }) => ({ schedule })),
  'schedules.cancel': of(async (data) => ({ schedule: await data.newSchedule() }), {}),
  'schedules.pause': of(async (data) => ({ schedule: await data.newSchedule() })),
  'schedules.resume': of(async (data) => ({ schedule: await data.newSchedule() })),
  'schedules.run': of(async (data) => ({ schedule: await data.newSchedule() })),
  'schedules.history': of(({ schedule }) => ({ schedule })),
  'triggers.list': list,
  'triggers.subscribe': of(() => ({ event: 'e', tool: 'report', id: randomUUID() }), {}),
  'triggers.get': of(({ trigger }) => ({ trigger })),
  'triggers.unsubscribe': of(async (data) => ({ trigger: await data.newTrigger() }), {}),
  'triggers.pause': of(async (data) => ({ trigger: await data.newTrigger() })),
  'triggers.resume': of(async (data) => ({ trigger: await data.newTrigger() })),
  'triggers.emit': plain({ event: 'nothing', payload: {}, key: 'k' }),

  'files.list': list,
  'files.read': of(({ path }) => ({ path })),
  'files.write': { fields: inSession(() => ({ path: `up/${randomUUID()}.txt` })), bytes: 'some bytes' },
  'files.remove': of(async (data) => ({ path: await data.newFile() }), {}),
  'values.list': list,
  'values.get': of(({ value }) => ({ key: value })),
  'values.set': of(() => ({ key: 'k', value: { a: 1 } }), {}),
  'values.delete': of(() => ({ key: randomUUID() }), {}),
  'secrets.list': list,
  'secrets.set': of(() => ({ name: 'other', value: 'another-secret-value' }), {}),
  'secrets.delete': of(() => ({ name: randomUUID() }), {}),
  'attachments.read': { fields: ({ attachment }) => ({ attachment }), missing: 404 },

  'events.stream': plain(),
  'sessions.events': of(() => ({ after: 'p1' }), {}),
  'audit.list': plain({ limit: 1_000 }),

  'workers.list': plain(),
  'health.get': plain(),
  'store.prune': plain({ olderThan: '3650d' }),
  'tokens.list': plain(),
  'tokens.create': plain({ name: 'ci', roles: ['viewer'], expiresIn: '1d' }),
  'tokens.revoke': { fields: async (data) => ({ token: await data.newToken() }) },
  'me.get': plain(),
}

export interface RequestTerms {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Fields
}

/** Fills in the path of an endpoint; the rest of the fields go into the query or the JSON body. */
export function requestFor(name: OperationName, fields: Fields, bytes?: string, more: RequestTerms = {}): Request {
  const [method, path] = endpoints[name].split(' ') as [string, string]
  const rest = { ...fields }
  const filled = path.replaceAll(/[:*](\w+)/g, (mark, param: string) => {
    const value = String(rest[param])
    delete rest[param]
    return mark.startsWith('*') ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value)
  })
  const hasBody = (method === 'POST' || method === 'PUT') && routes[name].kind !== 'upload'
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries({ ...(hasBody ? {} : rest), ...more.query })) query.set(key, String(value))
  const url = `http://localhost${filled}${query.size > 0 ? `?${query}` : ''}`
  const headers = { ...(hasBody ? { 'content-type': 'application/json' } : {}), ...more.headers }
  const body = hasBody ? JSON.stringify(rest) : method === 'PUT' ? (bytes ?? '') : undefined
  return new Request(url, { method: more.method ?? method, headers, ...(body === undefined ? {} : { body }) })
}
