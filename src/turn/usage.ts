// What models have cost (SESS-11): per answer with its message, per turn in its outcome, and per session, model and tool here. Counted once for each turn and
// each completion, whatever crashes.

import type { Invocation } from '../engine/engine.ts'
import { usageName } from '../journal/message.ts'
import { addUsage, noUsage } from '../model/model.ts'
import type { SessionUsage, TurnUsage, UsageOf } from '../model/turn.ts'
import type { Store } from '../store/store.ts'
import type { Scope } from './host.ts'

const none: UsageOf = { ...noUsage, cost: 0, times: 0 }
const nothing: SessionUsage = { total: none, models: {}, tools: {} }

/** `tool`: in whose body the model was asked; null for a turn. */
export async function countUsage(
  invocation: Invocation,
  key: string,
  { model, tool, usage, times }: { model: string; tool: string | null; usage: TurnUsage; times: number },
): Promise<void> {
  await invocation.tally({
    key: `usage:${key}`,
    names: [usageName(invocation.request.position)],
    count([kept]) {
      const before = kept === null || kept === undefined ? nothing : (JSON.parse(kept) as SessionUsage)
      const more = { ...usage, times }
      const after: SessionUsage = {
        total: plus(before.total, more),
        models: { ...before.models, [model]: plus(before.models[model] ?? none, more) },
        tools: tool === null ? before.tools : { ...before.tools, [tool]: plus(before.tools[tool] ?? none, more) },
      }
      return { keep: [JSON.stringify(after)], mark: '1' }
    },
  })
}

export async function usageOf(store: Store, of: Scope): Promise<SessionUsage> {
  const kept = await store.kept(usageName(of))
  return kept ? (JSON.parse(kept.value) as SessionUsage) : nothing
}

const plus = ({ cost, times, ...usage }: UsageOf, more: UsageOf): UsageOf => ({
  ...addUsage(usage, more),
  cost: cost === null || more.cost === null ? null : cost + more.cost,
  times: times + more.times,
})
