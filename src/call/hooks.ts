// Hooks: what the host may say about a call before and after its body (CALL-8). Strength decides, not the order of registration: abort, deny,
// answer, replace. What the before hooks decided is recorded, so a recovery does not ask them again. A hook that throws denies.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure, type Outcome } from '../kernel/outcome.ts'
import { decode, encode, type Json } from '../kernel/value.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Tool } from '../tool/tool.ts'
import type { BeforeVerdict, Hook, HookFacts } from './hook.ts'
import type { CallHost } from './host.ts'

type Decided = { readonly by: string; readonly verdict: Exclude<BeforeVerdict, void | undefined> }

const strength = ['abort', 'deny', 'answer', 'replace'] as const
const kindOf = (verdict: object): (typeof strength)[number] | undefined => strength.find((kind) => Object.hasOwn(verdict, kind))

/** A hook knows a tool by its name, whatever the model called it by. */
const factsOf = (invocation: Invocation, { name }: Tool, input: Json): HookFacts => {
  const { position, principal } = invocation.request
  return { tenant: position.tenant, session: position.session, principal, callId: invocation.callId, tool: name, input }
}

const key = 'hooks:before'

/** Whether before hooks have a word, or had one. */
export const hasBefore = (invocation: Invocation, host: CallHost): boolean =>
  host.hooks.some((hook) => hook.before) || invocation.recorded(key) !== null

/** The arguments to go on with, or how the call ends. Without hooks it costs nothing. */
export async function beforeHooks(
  invocation: Invocation,
  tool: Tool,
  input: Json,
  host: CallHost,
): Promise<{ input: Json; changed: boolean } | ToSettle> {
  const hooks = host.hooks.filter((hook) => hook.before)
  if (hooks.length === 0 && !invocation.recorded(key)) return { input, changed: false }
  const end = await invocation.run({ key, input: null, once: false }, async () => ({
    done: encode((await decide(hooks, invocation, tool, input, host)) ?? null),
  }))
  const decided = decode((end as { done: string }).done) as unknown as Decided | null
  if (!decided) return { input, changed: false }
  const { by, verdict } = decided
  if ('replace' in verdict) return { input: verdict.replace as Json, changed: true }
  if ('answer' in verdict) return { settle: { status: 'success', value: verdict.answer as Json } }
  const [code, reason] = 'abort' in verdict ? ['turn_aborted', verdict.abort] : ['denied_by_hook', verdict.deny]
  return { settle: failure({ class: 'permission_denied', code, message: `Refused by '${by}': ${reason}`, source: 'hook' }) }
}

/** The strongest verdict. A replacement is shown to all hooks once more: any of them may still refuse what it became. */
async function decide(
  hooks: readonly Hook[],
  invocation: Invocation,
  tool: Tool,
  input: Json,
  host: CallHost,
): Promise<Decided | undefined> {
  const first = await strongest(hooks, factsOf(invocation, tool, input), host)
  if (!first || !('replace' in first.verdict)) return first
  const replaced = decode(encode(first.verdict.replace))
  const second = await strongest(hooks, factsOf(invocation, tool, replaced), host)
  if (!second || JSON.stringify(second.verdict) === JSON.stringify(first.verdict)) return { by: first.by, verdict: { replace: replaced } }
  if (!('replace' in second.verdict)) return second
  return { by: second.by, verdict: { deny: `it and '${first.by}' want different arguments` } }
}

async function strongest(hooks: readonly Hook[], facts: HookFacts, host: CallHost): Promise<Decided | undefined> {
  // A copy for each: only a verdict changes the arguments.
  const text = encode(facts.input)
  const verdicts = await Promise.all(hooks.map((hook) => ask(hook, { ...facts, input: decode(text) }, host)))
  const ranked = verdicts.filter((each) => each !== undefined)
  const rank = ({ verdict }: Decided): number => strength.indexOf(kindOf(verdict) as 'abort')
  return ranked.toSorted((a, b) => rank(a) - rank(b) || (a.by < b.by ? -1 : 1))[0]
}

async function ask(hook: Hook, facts: HookFacts, host: CallHost): Promise<Decided | undefined> {
  try {
    const verdict = await hook.before?.(facts)
    if (verdict === undefined || verdict === null) return undefined
    if (typeof verdict === 'object' && kindOf(verdict))
      return { by: hook.name, verdict: JSON.parse(JSON.stringify(verdict)) as Decided['verdict'] }
    host.logger.error('A hook gave something that is not a verdict', { hook: hook.name, callId: facts.callId })
  } catch (error) {
    host.logger.error('A hook threw', { hook: hook.name, callId: facts.callId, error })
  }
  return { by: hook.name, verdict: { deny: 'the check itself failed' } }
}

/** What becomes of the outcome. A hook that throws changes nothing: the body has run, and its outcome must not be lost. */
export function afterHooks(invocation: Invocation, tool: Tool, accepted: Fresh, outcome: Outcome, host: CallHost): Soon<Outcome> {
  return host.hooks.some((hook) => hook.after) ? askAfter(invocation, tool, accepted, outcome, host) : outcome
}

/** Arguments as they are on record, for each who asks. */
interface Fresh {
  anew(): { readonly args: Json }
}

async function askAfter(invocation: Invocation, tool: Tool, accepted: Fresh, outcome: Outcome, host: CallHost): Promise<Outcome> {
  let replaced: Outcome | undefined
  for (const hook of host.hooks.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!hook.after) continue
    try {
      const verdict = await hook.after(factsOf(invocation, tool, accepted.anew().args), outcome)
      if (!verdict) continue
      if ('abort' in verdict) return failure({ class: 'permission_denied', code: 'turn_aborted', message: verdict.abort, source: 'hook' })
      encode(verdict.replace)
      replaced ??= verdict.replace
    } catch (error) {
      host.logger.error('An after hook threw; the outcome stands', { hook: hook.name, callId: invocation.callId, error })
    }
  }
  return replaced ?? outcome
}
