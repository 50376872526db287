// Hooks: what the host may say about a call before and after its body (CALL-8). Strength decides, not the order of registration: abort, deny,
// answer, replace. What the before hooks decided is recorded, so a recovery does not ask them again. A hook that throws, does not answer or
// gives something else denies before the body, and changes nothing after it.

import type { ToSettle } from '../../engine/engine.ts'
import { canonical } from '../../core/canonical-json.ts'
import { checkedOutcome, failure, type Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { decode, encode, type Json } from '../../core/value.ts'
import { ask, type Asking, endOf, Unanswered } from '../host-callback.ts'
import type { Hook, HookFacts } from './hook.ts'

const strength = ['abort', 'deny', 'answer', 'replace'] as const
type Kind = (typeof strength)[number]
type Decided = { readonly by: string; readonly kind: Kind; readonly said: Json }

const kindOf = (verdict: unknown): Kind | undefined =>
  typeof verdict === 'object' && verdict !== null ? strength.find((kind) => Object.hasOwn(verdict, kind)) : undefined

/** A hook knows a tool by its name, whatever the model called it by. */
const factsOf = ({ execution, tool }: Asking, input: Json): HookFacts => {
  const { position, principal } = execution.request
  return {
    tenant: position.tenant,
    session: position.session,
    principal,
    callId: execution.callId,
    tool: tool.name,
    input,
  }
}

const firstKey = 'hooks:before'

/** Whether before hooks have a word, or had one. */
export const hasBefore = ({ execution, host }: Asking): boolean =>
  host.hooks.some((hook) => hook.before) || execution.recorded(firstKey) !== null

/** The arguments to go on with, or how the call ends. Without hooks it costs nothing. `again`: of arguments that a person changed. */
export async function beforeHooks(asking: Asking, input: Json, again = ''): Promise<{ input: Json } | ToSettle> {
  const { execution, host } = asking
  const key = firstKey + again
  const hooks = host.hooks.filter((hook) => hook.before)
  if (hooks.length === 0 && !execution.recorded(key)) return { input }
  let decided: Decided | null
  try {
    const end = await execution.run({ key, input: null, once: false }, async () => ({
      done: toRecord(await decide(hooks, asking, input)),
    }))
    decided = fromRecord((end as { done: string }).done)
  } catch (error) {
    const end = error instanceof Unanswered ? endOf(error) : null
    if (end) return end
    throw error
  }
  if (!decided) return { input }
  const { by, kind, said } = decided
  if (kind === 'replace') return { input: said }
  if (kind === 'answer') return { settle: { status: 'success', value: said } }
  const code = kind === 'abort' ? 'turn_aborted' : 'denied_by_hook'
  return {
    settle: failure({
      class: 'permission_denied',
      code,
      message: `Refused by '${by}': ${reasonOf(said)}`,
      source: 'hook',
    }),
  }
}

const toRecord = (decided: Decided | undefined): string =>
  encode(decided ? { by: decided.by, verdict: { [decided.kind]: decided.said } } : null)

function fromRecord(text: string): Decided | null {
  const kept = decode(text) as { by: string; verdict: Record<Kind, Json> } | null
  const kind = kindOf(kept?.verdict)
  return kept && kind ? { by: kept.by, kind, said: kept.verdict[kind] } : null
}

const reasonOf = (said: unknown): string => (typeof said === 'string' && said !== '' ? said : 'it gave no reason')

/**
 * The strongest verdict. A replacement is shown to all hooks again, so that any of them may still refuse what it became, or change something
 * else in it: each hook once, by name. One that then wants its own back disagrees with another, and nobody knows who is right.
 */
async function decide(hooks: readonly Hook[], asking: Asking, input: Json): Promise<Decided | undefined> {
  const changed: Decided[] = []
  for (let now = input; ;) {
    const verdicts = await verdictsOn(hooks, asking, now)
    const refusal = verdicts.find(({ kind }) => kind !== 'replace')
    if (refusal) return refusal
    const last = changed.at(-1)
    const asItIs = canonical(now)
    const next = verdicts.find(({ by, said }) => by !== last?.by && canonical(said) !== asItIs)
    if (!next) return last
    if (changed.some(({ by }) => by === next.by))
      return { by: next.by, kind: 'deny', said: `it and '${last?.by}' want different arguments` }
    changed.push(next)
    now = next.said
  }
}

/** All that was said, the strongest first. */
async function verdictsOn(hooks: readonly Hook[], asking: Asking, input: Json): Promise<Decided[]> {
  // A copy for each: only a verdict changes the arguments.
  const text = encode(input)
  const verdicts = await Promise.all(hooks.map((hook) => verdictOf(hook, asking, factsOf(asking, decode(text)))))
  const rank = ({ kind }: Decided): number => strength.indexOf(kind)
  return verdicts.filter((each) => each !== undefined).toSorted((a, b) => rank(a) - rank(b) || (a.by < b.by ? -1 : 1))
}

async function verdictOf(hook: Hook, asking: Asking, facts: HookFacts): Promise<Decided | undefined> {
  const by = hook.name
  try {
    const verdict = await ask(`The before hook '${by}'`, asking, () => hook.before?.(facts))
    if (verdict === undefined || verdict === null) return undefined
    const kind = kindOf(verdict)
    // In the recorded form, in which it is kept: what has none is no verdict.
    if (kind) return { by, kind, said: decode(encode((verdict as Record<Kind, unknown>)[kind])) }
    fault(hook, asking, 'A hook gave something that is not a verdict')
  } catch (error) {
    if (error instanceof Unanswered && error.why !== 'patience') throw error
    fault(hook, asking, error instanceof Unanswered ? 'A hook did not answer' : 'A hook threw', error)
  }
  return { by, kind: 'deny', said: 'the check itself failed' }
}

function fault({ name: hook }: Hook, { execution, tool, host }: Asking, what: string, error?: unknown): void {
  host.logger.error(what, {
    hook,
    tool: tool.name,
    callId: execution.callId,
    ...(error === undefined ? {} : { error }),
  })
}

/** What becomes of the outcome. The body has run, and what it did must not be lost: a hook that fails changes nothing. */
export function afterHooks(asking: Asking, accepted: Fresh, given: ToSettle): MaybePromise<ToSettle> {
  return asking.host.hooks.some((hook) => hook.after) ? askAfter(asking, accepted, given) : given
}

/** Arguments as they are on record, for each who asks. */
interface Fresh {
  anew(): { readonly args: Json }
}

/** By name, each on what the one before it made: what one took out stays out. */
async function askAfter(asking: Asking, accepted: Fresh, given: ToSettle): Promise<ToSettle> {
  let now = given
  for (const hook of asking.host.hooks.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!hook.after) continue
    const said = await saidAfter(hook, asking, accepted, now)
    if (!said) continue
    now = said
    if (now.settle.status === 'failure' && now.settle.failure.code === 'turn_aborted') return now
  }
  return now
}

async function saidAfter(
  hook: Hook,
  asking: Asking,
  accepted: Fresh,
  { settle, text }: ToSettle,
): Promise<ToSettle | undefined> {
  try {
    const own = decode(text ?? encode(settle)) as unknown as Outcome
    const facts = factsOf(asking, accepted.anew().args)
    const verdict = await ask(`The after hook '${hook.name}'`, asking, () => hook.after?.(facts, own))
    if (verdict === undefined || verdict === null) return undefined
    if (typeof verdict === 'object' && Object.hasOwn(verdict, 'abort')) {
      const message = reasonOf((verdict as { abort: unknown }).abort)
      return { settle: failure({ class: 'permission_denied', code: 'turn_aborted', message, source: 'hook' }) }
    }
    const replaced = checkedOutcome(decode(encode((verdict as { replace?: unknown }).replace)))
    if (replaced) return { settle: replaced }
    fault(hook, asking, 'An after hook gave something that is no outcome; the outcome stands')
  } catch (error) {
    if (error instanceof Unanswered && typeof error.why === 'object' && 'over' in error.why) throw error.why.over
    const what = error instanceof Unanswered ? 'did not answer' : 'threw'
    fault(hook, asking, `An after hook ${what}; the outcome stands`, error)
  }
  return undefined
}
