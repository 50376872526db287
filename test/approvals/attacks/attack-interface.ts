// What an attacker has in hand, and the host behind it. Attacks are written against this, so that every door runs the same list: the library
// now; HTTP, CLI, MCP and the console when they are there. `ask`, `inbox`, `decide` and `cancel` go through the door; the rest is the host's.

import type { CallAsk, DecideAnswer, Duration, InboxItem, InboxQuery, RememberedRule, RuntimeOptions, Tool } from 'pawl'
import { tool } from 'pawl'
import { z } from 'zod'
import type { Answer } from '../../../src/store/records/resolution.ts'

/** Whose session it is. */
export interface Who {
  readonly tenant?: string
  readonly session?: string
  readonly principal?: string
  readonly policy?: object
  readonly batch?: string
}

export type Setting = Partial<Pick<RuntimeOptions, 'policy' | 'hooks' | 'encrypt'>> & { readonly tools: readonly Tool[] }

export interface Door {
  /** What was done outside, in order: the arguments of every body that ran. */
  readonly ran: unknown[]
  /** Begins, or ends what there is and begins anew on the same store, as a deployment does. */
  start(setting: Setting): Promise<void>
  /** The same without anybody who runs calls: decisions are written, and nothing lands. */
  rest(setting: Setting): Promise<void>
  /** As if the power went: what is in memory is gone. */
  crash(): Promise<void>
  /** How the call ended, by its code; 'waiting' if it waits. */
  ask(call: CallAsk, who?: Who): Promise<string>
  /** Does not wait for anything; what comes of it is for later. */
  submit(call: CallAsk, who?: Who): void
  inbox(query?: InboxQuery): Promise<InboxItem[]>
  decide(id: string, decision: unknown): Promise<DecideAnswer>
  cancel(who?: Who): Promise<number>
  /** What a new message of the user does to what waits. */
  supersede(who?: Who): Promise<number>
  /** A result for a call that was handed out. */
  answer(callId: string, answer: Answer, who?: Who): Promise<string>
  resolve(key: string, answer: Answer): Promise<string>
  rules(tenant?: string): Promise<RememberedRule[]>
  revoke(rule: string, by: string, tenant?: string): Promise<boolean>
  advance(by: Duration): Promise<void>
  /** All that lies in the store, as whoever stole it reads it. */
  stolen(): Promise<string>
  /** The host's secret: the worst that can be stolen. */
  readonly secret: Uint8Array
}

export interface Attack {
  readonly name: string
  /** What may run of it: the arguments of bodies, in order. Nothing if not said. */
  readonly may?: readonly unknown[]
  run(door: Door): Promise<void>
}

export interface Refund {
  readonly order: string
  readonly cents: number
}

export type Over = Partial<Parameters<typeof tool>[0]> & object

/** Money goes back: a person is asked. */
export const refund = (door: Pick<Door, 'ran'>, over: Over = {}): Tool =>
  tool({
    name: 'refund',
    description: 'Refund an order. Money goes back.',
    input: z.object({ order: z.string(), cents: z.number() }),
    hints: { destructive: true },
    // The clock is moved while a database is at work: its minutes are none.
    timeout: '10d',
    execute: (input: Refund) => {
      door.ran.push(input)
      return { refunded: input.cents }
    },
    ...over,
  } as never)

export const ask = (cents: unknown = 4200, id = 'c1', order: unknown = 'A1'): CallAsk => ({ id, name: 'refund', input: { order, cents } })
export const ran = (cents: number, order = 'A1'): Refund => ({ order, cents })
export const yes = (by = 'user:bea') => ({ approve: true, by })
export const no = (by = 'user:bea') => ({ deny: true, by })

/** The one item that waits. */
export async function only(door: Door, query?: InboxQuery): Promise<InboxItem> {
  const items = await door.inbox(query)
  if (items.length !== 1) throw new Error(`${items.length} items wait, not one`)
  return items[0] as InboxItem
}

/** Asks for it, and gives the item that waits for people. */
export async function waiting(door: Door, call = ask(), who: Who = {}): Promise<InboxItem> {
  const status = await door.ask(call, who)
  if (status !== 'waiting') throw new Error(`It is ${status}, not waiting`)
  const items = (await door.inbox()).filter((item) => item.callId === call.id && item.session === (who.session ?? 'chat'))
  return items.filter((item) => item.tenant === (who.tenant ?? 'acme'))[0] as InboxItem
}

/** What comes of it, with the time it takes: delays of tries, and what other processes have to hear of. */
export async function inTime<T>(clock: { advance(by: number): Promise<void> }, promise: Promise<T>): Promise<T> {
  let over = false
  const end = promise.finally(() => (over = true))
  end.catch(() => {})
  while (!over) await clock.advance(100)
  return end
}

/** Goes round the event loop until it is so; the limit of the test is the limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}
