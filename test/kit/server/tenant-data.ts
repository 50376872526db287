// The data of one tenant: something in every collection, and functions that add what an operation uses up. `missingData`
// has ids of the same form that name nothing.

import { randomUUID } from 'node:crypto'
import type { InboxItem, Runtime, Session } from 'pawl'
import { vi } from 'vitest'
import { ignoreResult } from '../interrupted-calls.ts'
import type { ToolLedger } from './server-tools.ts'

/** Text that only this tenant has. No response to another tenant may contain it. */
export const markOf = (tenant: string): string => `only-${tenant}-1f9c7a`
/** A secret of this tenant. No response at all may contain it. */
export const canaryOf = (tenant: string): string => `canary-${tenant}-4b7d2e90`

/** Ids that exist from the start. */
export interface TenantIds {
  readonly tenant: string
  readonly session: string
  readonly call: string
  readonly turn: string
  readonly output: string
  readonly attachment: string
  readonly rule: string
  readonly task: string
  readonly openTask: string
  readonly schedule: string
  readonly trigger: string
  readonly path: string
  readonly value: string
  readonly secret: string
  readonly token: string
  readonly cursor: string
}

/** Makes a new object for each request that uses one up. */
export interface TenantData extends TenantIds {
  approval(): Promise<Pick<InboxItem, 'id' | 'fingerprint' | 'call'>>
  /** A request that a person has denied. */
  endedItem(): Promise<string>
  clientCall(): Promise<string>
  waitKey(): Promise<string>
  newRule(): Promise<string>
  openTurnTask(): Promise<string>
  newSchedule(): Promise<string>
  newTrigger(): Promise<string>
  newFile(): Promise<string>
  newToken(): Promise<string>
  notice(): Promise<string>
  /** A session with one settled call, to be erased or ended. */
  newSession(): Promise<string>
}

export const callerOfTenant = (tenant: string): string => `user:${tenant}-caller`
/** Far away, so that it never comes due in a test. */
const yearly = '0 0 1 1 *'

export class SeededTenant {
  readonly tenant: string
  readonly #runtime: Runtime
  readonly #ledger: ToolLedger

  constructor(runtime: Runtime, tenant: string, ledger: ToolLedger) {
    this.#runtime = runtime
    this.tenant = tenant
    this.#ledger = ledger
  }

  #open(id: string): Session {
    return this.#runtime.session(id, { tenant: this.tenant, principal: callerOfTenant(this.tenant) })
  }

  async data(): Promise<TenantData> {
    const { tenant } = this
    const mark = markOf(tenant)
    const by = `user:${tenant}-admin`
    const session = `chat-${tenant}`
    const chat = this.#open(session)
    await chat.secrets.set('api', canaryOf(tenant))
    await this.#runtime.connections.set(
      { provider: 'gitlab', tenant, principal: callerOfTenant(tenant) },
      { token: `${canaryOf(tenant)}-account`, by },
    )
    const calls = ['lookup', 'fails', 'long', 'draw', 'tell'].map((name) => ({ id: name, name, input: { text: mark } }))
    const [, , long, draw] = await chat.run(calls, { batch: `first-${tenant}` })
    await chat.run(
      ['color', 'account', 'callback', 'pick', 'refund'].map((name) => ({
        id: name,
        name,
        input: { text: mark, order: mark, cents: 100 },
      })),
      { batch: `open-${tenant}`, until: 'waiting' },
    )
    const turn = chat.turn({ model: 'scripted', message: `Hello ${mark}` })
    await turn.outcome
    await chat.messages.send(`Later ${mark}`, { id: `sent-${tenant}`, when: 'after' })
    const task = await chat.tasks.start({ tool: 'report', id: `done-${tenant}` })
    await chat.tasks.wait(task.id)
    const open = await chat.tasks.start({ tool: 'patient', id: `open-${tenant}` })
    await chat.schedules.create({ tool: 'report', cron: yearly, id: `yearly-${tenant}` })
    await chat.triggers.subscribe({ event: 'paid', tool: 'report', id: `paid-${tenant}` })
    await chat.files.write('notes/a.txt', Buffer.from(mark))
    await chat.values.set('settings', { text: mark })
    const rows = await chat.calls.list()
    const lookup = rows.find(({ callId }) => callId === 'lookup')
    const rule = await this.#rule()
    const token = await this.#token()
    let cursor = ''
    for await (const event of chat.events({ until: 'now' })) ({ cursor } = event)
    return {
      tenant,
      session,
      cursor,
      call: lookup?.uid as string,
      turn: turn.id,
      output: /stored as "(\w+)"/.exec(JSON.stringify(long).replaceAll('\\', ''))?.[1] as string,
      attachment: /"id":"([^"]+)","mediaType"/.exec(JSON.stringify(draw))?.[1] ?? attachmentId(draw),
      rule,
      token,
      task: task.id,
      openTask: open.id,
      schedule: `yearly-${tenant}`,
      trigger: `paid-${tenant}`,
      path: 'notes/a.txt',
      value: 'settings',
      secret: 'api',
      approval: () => this.#approval(1_000),
      newRule: () => this.#rule(),
      newToken: () => this.#token(),
      clientCall: async () => {
        const id = `pick-${randomUUID()}`
        await chat.run([{ id, name: 'pick', input: { text: mark } }], { until: 'waiting' })
        return id
      },
      endedItem: async () => {
        const { id } = await this.#approval(1)
        await this.#runtime.decide(id, { deny: true, by: `user:${this.tenant}-approver` })
        return id
      },
      waitKey: async () => {
        const id = `callback-${randomUUID()}`
        ignoreResult(chat.run([{ id, name: 'callback' }]))
        return vi.waitUntil(() => this.#ledger.keys.get(id), { interval: 1, timeout: 10_000 })
      },
      openTurnTask: async () => (await chat.tasks.start({ tool: 'patient', id: `open-${randomUUID()}` })).id,
      newSchedule: async () =>
        (await chat.schedules.create({ tool: 'report', cron: yearly, id: `s-${randomUUID()}` })).id,
      newTrigger: async () =>
        (await chat.triggers.subscribe({ event: 'e', tool: 'report', id: `t-${randomUUID()}` })).id,
      newFile: async () => (await chat.files.write(`new/${randomUUID()}.txt`, Buffer.from(mark))).path.slice(1),
      notice: async () => {
        const { id } = await chat.tasks.start({ tool: 'report' })
        await chat.tasks.wait(id)
        return (await chat.notices.list())[0]?.id ?? 'none'
      },
      newSession: async () => {
        const id = `scratch-${tenant}-${randomUUID()}`
        await this.#open(id).run([{ id: 'a', name: 'lookup', input: { text: mark } }])
        return id
      },
    }
  }

  async #token(): Promise<string> {
    const { id } = await this.#runtime.tokens.create({ name: 'stored', roles: ['viewer'], tenant: this.tenant })
    return id
  }

  async #approval(cents: number): Promise<InboxItem> {
    const id = `refund-${randomUUID()}`
    const { tenant } = this
    await this.#open(`chat-${tenant}`).run([{ id, name: 'refund', input: { order: markOf(tenant), cents } }], {
      until: 'waiting',
    })
    const [item] = (await this.#runtime.inbox({ tenant, kind: 'approval', limit: 1_000 })).filter(
      ({ callId }) => callId === id,
    )
    return item as InboxItem
  }

  async #rule(): Promise<string> {
    const { id } = await this.#approval(1_001)
    const answer = await this.#runtime.decide(id, {
      approve: true,
      by: `user:${this.tenant}-approver`,
      remember: { when: { order: { eq: 'never' } } },
    })
    return (answer as { rule: string }).rule
  }
}

const attachmentId = (value: unknown): string => {
  throw new Error(`There is no attachment in ${JSON.stringify(value).slice(0, 500)}`)
}

/** Each id has the form of the real one, and names nothing. */
export function missingData(like: TenantData): TenantData {
  const other = (id: string): string =>
    id.replaceAll(/[0-9a-z](?=[0-9a-z]{0,7}$)/g, (mark) => (mark === '0' ? '1' : mark === 'z' ? 'y' : '0'))
  const missing = async (): Promise<string> => `missing-${randomUUID()}`
  const ids = Object.fromEntries(
    Object.entries(like).flatMap(([name, value]) => (typeof value === 'string' ? [[name, other(value)]] : [])),
  ) as unknown as TenantIds
  return {
    ...ids,
    tenant: like.tenant,
    session: like.session,
    path: like.path,
    value: like.value,
    secret: like.secret,
    cursor: like.cursor,
    approval: async () => ({ id: await missing(), fingerprint: 'A'.repeat(43), call: await missing() }),
    endedItem: missing,
    clientCall: missing,
    waitKey: async () => `pawl_${'A'.repeat(43)}`,
    newRule: missing,
    openTurnTask: missing,
    newSchedule: missing,
    newTrigger: missing,
    newFile: missing,
    newToken: missing,
    notice: missing,
    newSession: async () => `scratch-${like.tenant}-${randomUUID()}`,
  }
}
