// Runs the before and after hooks of a call. The strongest verdict wins, regardless of registration order: abort, deny,
// answer, replace. The before decision is recorded, so a recovery does not run the hooks again. A before hook that
// throws, times out or returns anything else denies the call; such an after hook changes nothing.

import type { ToSettle } from '../../engine/engine.ts'
import { canonicalJson } from '../../core/canonical-json.ts'
import { parseOutcome, failure, type Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { decode, encode, type Json } from '../../core/tool-value.ts'
import { runCallback, type StageContext, outcomeOfAbandoned, CallbackAbandoned } from '../run-host-callback.ts'
import type { Hook, HookFacts } from './hook-definition.ts'
import { stepKeys } from '../../store/journal-keys.ts'

const strength = ['abort', 'deny', 'answer', 'replace'] as const
type Kind = (typeof strength)[number]
type HookDecision = { readonly by: string; readonly kind: Kind; readonly value: Json }

const kindOf = (verdict: unknown): Kind | undefined =>
  typeof verdict === 'object' && verdict !== null ? strength.find((kind) => Object.hasOwn(verdict, kind)) : undefined

/** `tool` is the tool's own name, not the name under which the model called it. */
const factsOf = ({ execution, tool }: StageContext, input: Json): HookFacts => {
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

/**
 * The arguments to continue with, or the end of the call. `suffix`: added to the step key for arguments that a person
 * edited.
 */
export async function runBeforeHooks(
  stage: StageContext,
  input: Json,
  suffix = '',
): Promise<{ input: Json } | ToSettle> {
  const { execution, host } = stage
  const key = stepKeys.beforeHooks + suffix
  const hooks = host.hooks.filter((hook) => hook.before)
  if (hooks.length === 0 && !execution.recordedStep(key)) return { input }
  let decided: HookDecision | null
  try {
    const end = await execution.runStep({ key, input: null, once: false }, async () => ({
      done: toRecord(await decideBefore(hooks, stage, input)),
    }))
    decided = fromRecord((end as { done: string }).done)
  } catch (error) {
    const end = error instanceof CallbackAbandoned ? outcomeOfAbandoned(error) : null
    if (end) return end
    throw error
  }
  if (!decided) return { input }
  const { by, kind, value } = decided
  if (kind === 'replace') return { input: value }
  if (kind === 'answer') return { settle: { status: 'success', value } }
  const code = kind === 'abort' ? 'turn_aborted' : 'denied_by_hook'
  return {
    settle: failure({
      class: 'permission_denied',
      code,
      message: `Refused by '${by}': ${reasonOf(value)}`,
      source: 'hook',
    }),
  }
}

const toRecord = (decided: HookDecision | undefined): string =>
  encode(decided ? { by: decided.by, verdict: { [decided.kind]: decided.value } } : null)

function fromRecord(text: string): HookDecision | null {
  const record = decode(text) as { by: string; verdict: Record<Kind, Json> } | null
  const kind = kindOf(record?.verdict)
  return record && kind ? { by: record.by, kind, value: record.verdict[kind] } : null
}

/** The arguments that a recorded decision put in place of the given ones; undefined if it replaced none. */
export function replacedArguments(record: string): Json | undefined {
  const decided = fromRecord(record)
  return decided?.kind === 'replace' ? decided.value : undefined
}

const reasonOf = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : 'it gave no reason')

/**
 * The strongest verdict. All hooks run again on a replacement, so that each may refuse or change the result; each hook
 * may replace once. A hook that replaces a second time conflicts with another hook, and the call is denied.
 */
async function decideBefore(
  hooks: readonly Hook[],
  stage: StageContext,
  input: Json,
): Promise<HookDecision | undefined> {
  const replacements: HookDecision[] = []
  for (let current = input; ;) {
    const verdicts = await collectVerdicts(hooks, stage, current)
    const refusal = verdicts.find(({ kind }) => kind !== 'replace')
    if (refusal) return refusal
    const last = replacements.at(-1)
    const currentText = canonicalJson(current)
    const next = verdicts.find(({ by, value }) => by !== last?.by && canonicalJson(value) !== currentText)
    if (!next) return last
    if (replacements.some(({ by }) => by === next.by))
      return { by: next.by, kind: 'deny', value: `it and '${last?.by}' want different arguments` }
    replacements.push(next)
    current = next.value
  }
}

/** The verdicts of all hooks, the strongest first. */
async function collectVerdicts(hooks: readonly Hook[], stage: StageContext, input: Json): Promise<HookDecision[]> {
  // Each hook gets a copy: only a verdict changes the arguments.
  const text = encode(input)
  const verdicts = await Promise.all(hooks.map((hook) => runBeforeHook(hook, stage, factsOf(stage, decode(text)))))
  const rank = ({ kind }: HookDecision): number => strength.indexOf(kind)
  return verdicts.filter((each) => each !== undefined).toSorted((a, b) => rank(a) - rank(b) || (a.by < b.by ? -1 : 1))
}

async function runBeforeHook(hook: Hook, stage: StageContext, facts: HookFacts): Promise<HookDecision | undefined> {
  const by = hook.name
  try {
    const verdict = await runCallback(`The before hook '${by}'`, stage, () => hook.before?.(facts))
    if (verdict === undefined || verdict === null) return undefined
    const kind = kindOf(verdict)
    // Throws if the value has no recorded form; then it is not a verdict.
    if (kind) return { by, kind, value: decode(encode((verdict as Record<Kind, unknown>)[kind])) }
    logHookFault(hook, stage, 'A before hook returned something that is not a verdict; the call is denied')
  } catch (error) {
    if (error instanceof CallbackAbandoned && error.reason !== 'callback') throw error
    logHookFault(
      hook,
      stage,
      `A before hook ${error instanceof CallbackAbandoned ? 'did not return in time' : 'threw'}; the call is denied`,
      error,
    )
  }
  return { by, kind: 'deny', value: 'the check itself failed' }
}

function logHookFault(
  { name: hook }: Hook,
  { execution, tool, host }: StageContext,
  what: string,
  error?: unknown,
): void {
  host.logger.error(what, {
    hook,
    tool: tool.name,
    callId: execution.callId,
    ...(error === undefined ? {} : { error }),
  })
}

/**
 * The outcome after the after hooks. The body has run and its effect must not be lost, so a failing hook changes
 * nothing.
 */
export function runAfterHooks(stage: StageContext, args: ArgsSource, result: ToSettle): MaybePromise<ToSettle> {
  return stage.host.hooks.some((hook) => hook.after) ? applyAfterHooks(stage, args, result) : result
}

/** Gives each hook its own copy of the recorded arguments. */
interface ArgsSource {
  copy(): { readonly args: Json }
}

/** Runs the hooks in order of name. Each gets the result of the previous one, so what one removes stays removed. */
async function applyAfterHooks(stage: StageContext, args: ArgsSource, result: ToSettle): Promise<ToSettle> {
  let current = result
  for (const hook of stage.host.hooks.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!hook.after) continue
    const value = await runAfterHook(hook, stage, args, current)
    if (!value) continue
    current = value
    if (current.settle.status === 'failure' && current.settle.failure.code === 'turn_aborted') return current
  }
  return current
}

async function runAfterHook(
  hook: Hook,
  stage: StageContext,
  args: ArgsSource,
  { settle, text }: ToSettle,
): Promise<ToSettle | undefined> {
  try {
    const outcome = decode(text ?? encode(settle)) as unknown as Outcome
    const facts = factsOf(stage, args.copy().args)
    const verdict = await runCallback(`The after hook '${hook.name}'`, stage, () => hook.after?.(facts, outcome))
    if (verdict === undefined || verdict === null) return undefined
    if (typeof verdict === 'object' && Object.hasOwn(verdict, 'abort')) {
      const message = reasonOf((verdict as { abort: unknown }).abort)
      return { settle: failure({ class: 'permission_denied', code: 'turn_aborted', message, source: 'hook' }) }
    }
    const replaced = parseOutcome(decode(encode((verdict as { replace?: unknown }).replace)))
    if (replaced) return { settle: replaced }
    logHookFault(hook, stage, 'An after hook returned something that is not an outcome; the outcome is unchanged')
  } catch (error) {
    if (error instanceof CallbackAbandoned && typeof error.reason === 'object' && 'over' in error.reason)
      throw error.reason.over
    const what = error instanceof CallbackAbandoned ? 'did not return in time' : 'threw'
    logHookFault(hook, stage, `An after hook ${what}; the outcome is unchanged`, error)
  }
  return undefined
}
