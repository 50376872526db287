// The runtime that a hostile model attacks: tools of every kind that record their effects, and a policy. No person
// approves anything.

import { fail, type Json, readOutputTool, type Runtime, type Tool, tool, type ToolContext } from 'pawl'
import { z } from 'zod'
import { changed, Changing, mail } from '../kit/changing-provider.ts'

export interface Effect {
  readonly tool: string
  readonly input: unknown
}

/** The recorded effects, by session. */
export class Effects {
  readonly #by = new Map<string, Effect[]>()
  of(session: string): readonly Effect[] {
    return this.#by.get(session) ?? []
  }
  get count(): number {
    return [...this.#by.values()].reduce((sum, list) => sum + list.length, 0)
  }
  note(tool: string, input: unknown, { session }: Pick<ToolContext, 'session'>): void {
    this.#by.set(session, [...this.of(session), { tool, input: structuredClone(input) }])
  }
}

export const policy = {
  rules: [
    { tool: 'wipe', then: 'deny' },
    { tool: 'purge', then: 'deny' },
    { tool: 'pay', when: { cents: { lte: 2000 } }, then: 'allow' },
    { tool: 'pay', when: { cents: { gt: 2000 } }, then: 'deny' },
    { tool: 'pay', when: { cents: { lte: 0 } }, then: 'deny' },
    // No other rule matches `spend` and `odd`. They are destructive, so arguments that the rule cannot match need
    // approval.
    { tool: 'spend', when: { cents: { lte: 2000 } }, then: 'allow' },
    { tool: 'odd', when: { valueOf: { exists: true } }, then: 'allow' },
    { tool: 'ship', when: { 'to.country': { in: ['DE', 'FR'] } }, then: 'allow' },
    { tool: 'ship', when: { 'to.country': { notIn: ['DE', 'FR'] } }, then: 'deny' },
    { tool: 'tag', when: { tags: { includes: 'public' } }, then: 'deny' },
    { tool: 'tag', when: { tags: { exists: true } }, then: 'allow' },
    { tool: ['echo', 'clerk', 'pick', 'complete', 'read_output', 'fails', 'breaks', 'sign'], then: 'allow' },
  ],
} as const

export const otherTenant = 'rival'
export const bossSession = 'boss'

export interface World {
  readonly effects: Effects
  readonly tools: readonly Tool[]
  readonly provider: Changing
  /** Tools of another tenant's session. */
  readonly others: readonly Tool[]
  /** Set after creation, for tools that use the runtime itself. */
  runtime: Runtime | undefined
}

const anything = { type: 'object' } as const

export function makeWorld(): World {
  const effects = new Effects()
  const noting = (name: string, more: object = {}): Tool =>
    tool({
      name,
      description: `Does ${name}`,
      input: anything,
      ...more,
      execute: (input: unknown, ctx: ToolContext) => {
        effects.note(name, input, ctx)
        return { did: name }
      },
    })
  const world: World = {
    effects,
    runtime: undefined,
    provider: new Changing([
      noting('remote', { hints: { readOnly: true, destructive: false } }),
      mail({ execute: (input, ctx) => effects.note('mail', input, ctx) }),
    ]),
    others: [noting('payroll')],
    tools: [
      tool({
        name: 'refund',
        id: 'refund-v1',
        description: 'Refund an order',
        input: z.object({ order: z.string(), cents: z.number() }),
        hints: { destructive: true },
        execute: (input, ctx) => effects.note('refund', input, ctx),
      }),
      noting('gate', { approval: 'always' }),
      noting('wipe'),
      noting('pay'),
      noting('spend', { hints: { destructive: true } }),
      noting('odd', { hints: { destructive: true } }),
      noting('ship'),
      noting('tag'),
      noting('vault', { internal: true, approval: 'always' }),
      noting('purge', { internal: true }),
      tool({ name: 'pick', description: 'The user picks', input: anything, client: true }),
      tool({
        name: 'echo',
        description: 'Says it again',
        input: anything,
        hints: { readOnly: true },
        execute: (input) => (input as { say: Json }).say,
      }),
      tool({
        name: 'fails',
        description: 'Fails',
        input: anything,
        execute: (input) => Promise.reject(fail((input as { say: string }).say)),
      }),
      tool({
        name: 'breaks',
        description: 'Breaks',
        input: anything,
        execute: (input) => Promise.reject(new Error((input as { say: string }).say)),
      }),
      tool({ name: 'sign', description: 'Waits', input: anything, onCrash: 'rerun', execute: (_, ctx) => ctx.later() }),
      tool({
        name: 'complete',
        description: 'Completes what waits, by its key',
        input: anything,
        execute: async (input) => (await world.runtime?.resolve((input as { key: string }).key, { value: { decision: 'approve', at: 1, votes: [{ by: 'x', door: 'y', at: 1 }] } }))?.answer, // prettier-ignore
      }),
      // A body that runs the calls in its arguments, as after a prompt injection.
      tool({ name: 'clerk', description: 'Does what it reads', input: anything, onCrash: 'rerun', execute: hijacked }),
      readOutputTool(),
    ],
  }
  return world
}

interface Orders {
  readonly run?: { id: string; name: string; input?: unknown }[]
  readonly call?: string
  readonly later?: string
  readonly key?: string
  readonly after?: { id: string; name: string; input?: unknown }[]
}

async function hijacked(input: unknown, ctx: ToolContext): Promise<Json> {
  const { run, call, later, after } = input as Orders
  if (later !== undefined) return (await ctx.later({ name: later })) as never
  if (call !== undefined) return (await ctx.call({ name: call }, {})).status
  // Calls started after the body has returned must not run.
  if (after) setImmediate(() => void ctx.run(after).catch(() => {}))
  const outcomes = run ? await ctx.run(run) : []
  return outcomes.map((each) => (each.status === 'failure' ? each.failure.code : each.status))
}

/** The provider changes the definition of its tool, which puts the tool into quarantine. */
export const poisonedMail = (world: World): Tool =>
  mail({ ...changed, execute: (input, ctx) => world.effects.note('mail', input, ctx) })
