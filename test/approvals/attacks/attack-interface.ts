// The interface that attacks are written against, so that each door (library, HTTP, CLI, MCP, console) can run the same
// list. `ask`, `inbox`, `decide` and `cancel` go through the door; the rest is the host's side.

import type { CallAsk, DecideAnswer, Duration, InboxItem, InboxQuery, RememberedRule, RuntimeOptions, Tool } from 'pawl'
import { tool } from 'pawl'
import { z } from 'zod'
import type { Answer } from '../../../src/store/records/wait-resolution.ts'

/** The session in which a call is made. */
export interface Who {
  readonly tenant?: string
  readonly session?: string
  readonly principal?: string
  readonly policy?: object
  readonly batch?: string
}

export type Setting = Partial<Pick<RuntimeOptions, 'policy' | 'hooks' | 'encrypt'>> & {
  readonly tools: readonly Tool[]
}

export interface Door {
  /** The input of every body that ran, in order. */
  readonly ran: unknown[]
  /** Starts the runtime, or restarts it on the same store as a deploy does. */
  start(setting: Setting): Promise<void>
  /** Restarts without a worker: decisions are recorded but nothing runs. */
  rest(setting: Setting): Promise<void>
  /** Drops the process without closing it; only the store remains. */
  crash(): Promise<void>
  /** The status or failure code of the call; 'waiting' while it waits. */
  ask(call: CallAsk, who?: Who): Promise<string>
  /** Starts the call without waiting for it. */
  submit(call: CallAsk, who?: Who): void
  inbox(query?: InboxQuery): Promise<InboxItem[]>
  decide(id: string, decision: unknown): Promise<DecideAnswer>
  cancel(who?: Who): Promise<number>
  /** Withdraws pending calls, as a new user message does. */
  supersede(who?: Who): Promise<number>
  /** Answers a client call. */
  answer(callId: string, answer: Answer, who?: Who): Promise<string>
  resolve(key: string, answer: Answer): Promise<string>
  rules(tenant?: string): Promise<RememberedRule[]>
  revoke(rule: string, by: string, tenant?: string): Promise<boolean>
  advance(by: Duration): Promise<void>
  /** The complete content of the store, as a thief would read it. */
  stolen(): Promise<string>
  /** The host's secret: the worst case is that it is stolen too. */
  readonly secret: Uint8Array
}

export interface Attack {
  readonly name: string
  /** The inputs that bodies may receive, in order; none by default. */
  readonly may?: readonly unknown[]
  run(door: Door): Promise<void>
}

export interface Refund {
  readonly order: string
  readonly cents: number
}

export type Over = Partial<Parameters<typeof tool>[0]> & object

/** A destructive tool, so its calls need approval. */
export const refund = (door: Pick<Door, 'ran'>, over: Over = {}): Tool =>
  tool({
    name: 'refund',
    description: 'Refund an order. Money goes back.',
    input: z.object({ order: z.string(), cents: z.number() }),
    hints: { destructive: true },
    // The test clock moves while a database works, so minutes pass on it without meaning.
    timeout: '10d',
    execute: (input: Refund) => {
      door.ran.push(input)
      return { refunded: input.cents }
    },
    ...over,
  } as never)

export const ask = (cents: unknown = 4200, id = 'c1', order: unknown = 'A1'): CallAsk => ({
  id,
  name: 'refund',
  input: { order, cents },
})
export const ran = (cents: number, order = 'A1'): Refund => ({ order, cents })
export const yes = (by = 'user:bea') => ({ approve: true, by })
export const no = (by = 'user:bea') => ({ deny: true, by })

/** The only inbox item; throws if there is not exactly one. */
export async function only(door: Door, query?: InboxQuery): Promise<InboxItem> {
  const items = await door.inbox(query)
  if (items.length !== 1) throw new Error(`${items.length} items wait, not one`)
  return items[0] as InboxItem
}

/** Makes the call and returns its inbox item. */
export async function waiting(door: Door, call = ask(), who: Who = {}): Promise<InboxItem> {
  const status = await door.ask(call, who)
  if (status !== 'waiting') throw new Error(`It is ${status}, not waiting`)
  const items = (await door.inbox()).filter(
    (item) => item.callId === call.id && item.session === (who.session ?? 'chat'),
  )
  return items.filter((item) => item.tenant === (who.tenant ?? 'acme'))[0] as InboxItem
}

/** Starts with the refund tool, and returns the inbox item of its call. */
export async function pending(door: Door): Promise<InboxItem> {
  await door.start({ tools: [refund(door)] })
  return waiting(door)
}

/** Awaits the promise while moving the clock, for retry delays and for polling of other processes. */
export async function inTime<T>(clock: { advance(by: number): Promise<void> }, promise: Promise<T>): Promise<T> {
  let over = false
  const end = promise.finally(() => (over = true))
  end.catch(() => {})
  while (!over) await clock.advance(100)
  return end
}

/** Spins the event loop until the condition holds; the test timeout is the limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}
