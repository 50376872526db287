// Random turns for the simulation: what the model answers is planned before anything runs. A plan is a list of answers;
// each answer has calls of the tools in random-program.ts or of an agent, which works on a plan of its own.

import { agent, type Model, type ModelRequest, type Tool } from 'pawl'
import type { Ask } from './random-program.ts'
import type { Worker } from './simulated-worker.ts'
import type { World } from './simulated-world.ts'
import type { TurnLaws } from './turn-invariants.ts'

export interface PlannedTurn {
  readonly session: string
  readonly id: string
  readonly at: number
}

export interface SentMessage {
  readonly session: string
  readonly id: string
  readonly at: number
}

export interface TurnProgram {
  readonly turns: readonly PlannedTurn[]
  readonly messages: readonly SentMessage[]
  /** Answers of a plan by the id of its turn or agent. After the last one the model answers without calls. */
  readonly plans: ReadonlyMap<string, readonly (readonly Ask[])[]>
}

export function randomTurns(world: World, ask: (depth: number) => Ask): TurnProgram {
  const plans = new Map<string, Ask[][]>()
  let agents = 0
  const delegate = (): Ask => {
    const id = `a${++agents}`
    plan(id, false)
    return { id: `call_${id}`, name: 'delegate', input: { task: `do ${id}.` } as never }
  }
  const plan = (id: string, mayDelegate: boolean): void => {
    const call = (): Ask => (mayDelegate && world.likely(0.3) ? delegate() : ask(1))
    plans.set(
      id,
      Array.from({ length: world.chance(3) }, () => Array.from({ length: 1 + world.chance(2) }, call)),
    )
  }
  const turns = Array.from({ length: 1 + world.chance(4) }, (_, index) => {
    const id = `t${index}`
    plan(id, true)
    return { session: world.oneOf(['s1', 's1', 's2']), id, at: world.chance(3_000) }
  })
  const messages = Array.from({ length: world.chance(3) }, (_, index) => ({
    session: world.oneOf(['s1', 's2']),
    id: `m${index}`,
    at: world.chance(5_000),
  }))
  return { turns, messages, plans }
}

/** The plan that a conversation is at, and how many of its answers the conversation has. */
export function planOf({ messages }: ModelRequest): { readonly plan: string; readonly step: number } {
  let plan = ''
  let step = 0
  for (const message of messages) {
    if (message.role === 'assistant') step++
    if (message.role !== 'user') continue
    const asked = [...JSON.stringify(message).matchAll(/do (\w+)\./g)].at(-1)?.[1]
    if (asked === undefined) continue
    plan = asked
    step = 0
  }
  return { plan, step }
}

export function plannedModel(worker: Worker, world: World, { plans }: TurnProgram, laws: TurnLaws): Model {
  return {
    name: 'm',
    generate({ request, signal }) {
      if (!worker.alive) return new Promise(() => {})
      const { plan, step } = planOf(request)
      const number = laws.asked(worker.name, plan, step, request)
      const calls = plans.get(plan)?.[step] ?? []
      const answer = {
        parts: [
          { type: 'text' as const, text: `answer ${number} to ${plan}/${step}`, meta: { answer: number } },
          ...calls.map(({ id, name, input }) => ({ type: 'call' as const, id, name, input: JSON.stringify(input) })),
        ],
        finish: calls.length > 0 ? ('calls' as const) : ('stop' as const),
        usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 },
      }
      return new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
        world.after(world.chance(300), () => worker.wake(() => resolve(answer)))
      })
    },
  }
}

export const delegateTool = (): Tool => agent({ name: 'delegate', description: 'An agent', model: 'm' })
