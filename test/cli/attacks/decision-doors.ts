// A shop with a server and a worker on a local store, and three doors to its inbox: fetch, `pawl` on the server, and
// `pawl` on the store. Each door makes decisions as a person and returns the exit code.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InboxItem } from 'pawl'
import { vi } from 'vitest'
import { exitCodeOfStatus } from '../../../src/cli/exit-codes.ts'
import { pawl, projectFolder, startPawl } from '../../kit/run-pawl.ts'

export const doorNames = ['fetch', 'pawl on a server', 'pawl on a local store'] as const
export type DoorName = (typeof doorNames)[number]

/** Ada asks. The viewer may not decide, and Eve is of another tenant. */
export const people = ['ada', 'bea', 'cem', 'dan', 'viewer', 'eve'] as const
export type Person = (typeof people)[number]

export interface Decision {
  readonly approve?: true
  readonly deny?: true
  readonly edit?: unknown
  readonly fingerprint?: string
}

export interface Shop {
  /** Calls a tool in a session of its own, as Ada. Returns its inbox item. */
  ask(session: string, tool: string): Promise<InboxItem>
  inbox(session: string): Promise<InboxItem[]>
  cancel(session: string): Promise<void>
  decide(door: DoorName, person: Person, item: string, decision: Decision): Promise<number>
  /** Runs `pawl` as Bea. */
  pawl(door: DoorName, ...args: string[]): Promise<{ code: number | null; out: string; err: string }>
  send(method: string, path: string, person: Person, body?: object): Promise<{ status: number; body: unknown }>
  /** How often the tool ran in the session, after its call settled. */
  effects(session: string): Promise<number>
  /** The key of the wait that `callback` opened. */
  waitKey(): Promise<string>
  close(): Promise<void>
}

const tools = `
  import { appendFileSync } from 'node:fs'
  import { jsonSchema, tool } from 'pawl'
  const input = jsonSchema({ type: 'object', properties: { order: { type: 'string' } }, required: ['order'] })
  const refund = (name) => tool({ name, description: 'Refunds an order.', input, hints: { destructive: true },
    execute: (_, ctx) => { appendFileSync('ledger', ctx.session + '\\n') } })
  const callback = tool({ name: 'callback', description: 'Waits for a webhook.', input, onCrash: 'rerun',
    async execute(_, ctx) { const later = await ctx.later(); appendFileSync('keys', later.key); return later } })
  const pick = tool({ name: 'pick', description: 'Runs in the client.', input, client: true })
  const ask = (tool, terms) => ({ tool, then: 'ask', ...terms })
  export default {
    tools: [...['refund', 'refund_two', 'refund_separate', 'refund_brief'].map(refund), callback, pick],
    policy: { rules: [ask('refund', {}), ask('refund_two', { quorum: 2 }), ask('refund_separate', { separate: true }),
      ask('refund_brief', { expires: '1s' })] },
  }`

export async function openShop(): Promise<Shop> {
  const cwd = projectFolder({
    'pawl.config.mjs': `export default { runtime: () => import('./shop.mjs') }`,
    'shop.mjs': tools,
  })
  const elsewhere = projectFolder()
  const tokens = {} as Record<Person, string>
  for (const person of people) {
    const role = person === 'viewer' ? 'viewer' : 'operator'
    const flags = ['--role', role, '--principal', `user:${person}`, '--tenant', tenantOf(person), '--json']
    const made = await pawl({ cwd }, 'tokens', 'create', person, ...flags)
    tokens[person] = (JSON.parse(made.out) as { token: string }).token
  }
  const server = startPawl({ cwd }, 'serve', '--port', '0', '--json')
  await server.until('loginUrl')
  const { url } = JSON.parse(/\{[^}]*\}/.exec(server.shown())?.[0] ?? '') as { url: string }

  const send: Shop['send'] = async (method, path, person, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${tokens[person]}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, body: await response.json() }
  }
  const inbox = async (session: string): Promise<InboxItem[]> =>
    (await send('GET', `/v1/inbox?session=${session}`, 'bea')).body as InboxItem[]
  const runPawl = (door: DoorName, person: Person, ...args: string[]) =>
    door === 'pawl on a server'
      ? pawl({ cwd: elsewhere, env: { PAWL_URL: url, PAWL_TOKEN: tokens[person] } }, ...args)
      : pawl({ cwd }, ...args, '--as', `user:${person}`, '--tenant', tenantOf(person))

  return {
    send,
    inbox,
    pawl: (door, ...args) => runPawl(door, 'bea', ...args),
    async ask(session, tool) {
      const body = { name: tool, input: { order: 'A1' }, until: 'waiting' }
      await send('POST', `/v1/sessions/${session}/calls`, 'ada', body)
      return (await inbox(session))[0] as InboxItem
    },
    async cancel(session) {
      await send('POST', `/v1/sessions/${session}/cancel`, 'ada', {})
    },
    async decide(door, person, item, decision) {
      if (door === 'fetch') return codeOf((await send('POST', `/v1/inbox/${item}/decision`, person, decision)).status)
      const { edit, fingerprint } = decision
      const flags = [
        ...(edit === undefined ? [] : ['--edit', JSON.stringify(edit)]),
        ...(fingerprint === undefined ? [] : ['--fingerprint', fingerprint]),
      ]
      return (await runPawl(door, person, decision.deny ? 'deny' : 'approve', item, ...flags)).code ?? -1
    },
    async effects(session) {
      await vi.waitUntil(
        async () => {
          const { body } = await send('GET', `/v1/sessions/${session}/calls`, 'bea')
          return (body as { state: string }[]).every(({ state }) => state === 'settled')
        },
        { interval: 20, timeout: 20_000 },
      )
      const ledger = join(cwd, 'ledger')
      if (!existsSync(ledger)) return 0
      return readFileSync(ledger, 'utf8').split('\n').filter((line) => line === session).length // prettier-ignore
    },
    async waitKey() {
      await vi.waitUntil(() => existsSync(join(cwd, 'keys')), { interval: 20, timeout: 20_000 })
      return readFileSync(join(cwd, 'keys'), 'utf8')
    },
    async close() {
      server.signal('SIGTERM')
      await server.ended
    },
  }
}

const tenantOf = (person: Person): string => (person === 'eve' ? 'rival' : 'default')
const codeOf = (status: number): number => (status === 200 ? 0 : exitCodeOfStatus(status))
