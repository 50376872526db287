// replay(): runs the current tools against a recorded session and reports what differs, call by call. Each call is
// resumed as after a crash right before its end. Its recorded steps and answers replace the outside world, so no effect
// is repeated.

import { checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { difference } from '../engine/replay-difference.ts'
import {
  type CallOptions,
  type CallRecord,
  type CallTerms,
  parseCallOptions,
  parseCallTerms,
} from '../store/records/call-record.ts'
import { isTurn } from '../store/records/conversation.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { decode, encode } from '../core/tool-value.ts'
import { createRuntime } from '../index.ts'
import type { Runtime, RuntimeOptions } from '../index.ts'
import type { RecordedCall, Recording } from '../index.ts'
import type { Session } from '../index.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { openSealed } from '../store/open-encrypted.ts'
import type { Store } from '../store/store.ts'
import type { Question, ToolContext } from '../tools/context/tool-context.ts'
import { onCrashOf } from '../tools/tool-hints.ts'
import type { Tool } from '../tools/tool.ts'
import { toolSearchName } from '../tools/tool-search.ts'
import { withBody } from '../tools/derive-tool.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { isReserved, stepKeys, stepPrefix, waitNames } from '../store/journal-keys.ts'

/** The options of replay(). */
export interface ReplayOptions extends Pick<RuntimeOptions, 'keys' | 'sizes' | 'output' | 'hooks'> {
  /** The current tools. */
  readonly tools: readonly Tool[]
  /**
   * Also runs the bodies of tools that must not run twice. Use it only if they have no effects in the test. Default:
   * false; for those tools only the arguments are checked.
   */
  readonly effects?: boolean
}

/** How one call behaved in a replay. */
export interface ReplayedCall {
  /** The model's id of the call. */
  readonly callId: string
  /** Its batch. */
  readonly batch: string
  /** Name of the tool. */
  readonly tool: string
  /** `run`: the body ran. `checked`: only the arguments were checked. `skipped`: neither; `why` has the reason. */
  readonly how: 'run' | 'checked' | 'skipped'
  /** What differs, or why it was not replayed. */
  readonly why?: string
  /** Empty if nothing differs. */
  readonly differences: readonly string[]
}

/** The result of replay(). */
export interface Replay {
  /** True if every call behaved as recorded. */
  readonly same: boolean
  /** One entry per replayed call. */
  readonly calls: readonly ReplayedCall[]
  /** The differences call by call, for people. */
  readonly text: string
}

/** Exports the recording of a session, to be stored with a test. */
export const record = (session: Session): Promise<Recording> => session.recording()

export const replayOptions = {
  tools: option.required(option.array),
  effects: option.boolean,
  keys: option.object,
  sizes: option.object,
  output: option.object,
  hooks: option.array,
} satisfies OptionTable<ReplayOptions>

/**
 * Runs the recorded calls of a session again with the given tools and reports what differs. Recorded steps and waits
 * return
 * their recorded values, so no effect happens twice.
 *
 * @example
 * const { same, calls } = await replay(session, { tools: [refund] })
 */
export async function replay(of: Session | Recording, options: ReplayOptions): Promise<Replay> {
  checkRequiredOptions(options, replayOptions, 'replay()')
  const recording = 'recording' in of ? await of.recording() : of
  if (recording.format !== 1)
    throw new PawlError(
      'config_invalid',
      `The recording has format ${String(recording.format)}; this version reads format 1.`,
    )
  const stage = await ReplayRuntime.open(recording, options)
  const calls: ReplayedCall[] = []
  try {
    for (const call of recording.calls) {
      const about = describeCall(call.record)
      if (about) calls.push({ ...about, ...(await stage.replayCall(call)) })
    }
  } finally {
    await stage.close()
  }
  const differing = calls.filter(({ differences }) => differences.length > 0)
  const text =
    differing.length === 0
      ? `${calls.length} ${calls.length === 1 ? 'call' : 'calls'}, no difference.`
      : differing
          .map(
            ({ callId, tool, differences }) =>
              `${tool} (${callId})\n${differences.map((each) => `  ${each}`).join('\n')}`,
          )
          .join('\n')
  return { same: differing.length === 0, calls, text }
}

const optionsOf = ({ options }: Pick<CallRecord, 'options'>): CallOptions => parseCallOptions(options)

/** Null for records that are not tool calls: turns and internal calls of the runtime. */
function describeCall(call: CallRecord): Pick<ReplayedCall, 'callId' | 'batch' | 'tool'> | null {
  const [key = ''] = call.tool.split('@')
  const { callId = call.position.id, name = key, batch = call.position.batch } = optionsOf(call)
  return isTurn(call) || isReserved(key) ? null : { callId, batch, tool: name }
}

type ReplayResult = Pick<ReplayedCall, 'how' | 'why' | 'differences'>
const skipped = (why: string): ReplayResult => ({ how: 'skipped', why, differences: [] })

class ReplayStopped extends Error {}

class ReplayRuntime {
  readonly #store: Store
  readonly #clock: ManualClock
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #effects: boolean
  #runtime: Runtime | null = null
  /** Uid of the newest known call. */
  #lastUid = ''
  /** The call whose body runs now. */
  #current: { readonly call: RecordedCall; readonly taken: Set<string>; readonly found: string[] } | null = null

  static async open(
    recording: Recording,
    { tools, effects = false, ...options }: ReplayOptions,
  ): Promise<ReplayRuntime> {
    const clock = manualClock(
      Math.max(0, ...recording.calls.map(({ record: { settledAt, createdAt } }) => settledAt ?? createdAt)) + 1,
    )
    const store = memoryStore({ clock })
    // A recording holds sealed values in the clear; they are sealed again here.
    const stage = new ReplayRuntime(await openSealed(store, options.keys), clock, tools, effects)
    await stage.#load(recording)
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const watched = tools.map((each) => stage.#guardedTool(each))
    stage.#runtime = await createRuntime({ ...options, store, clock, tools: watched, logger })
    return stage
  }

  private constructor(store: Store, clock: ManualClock, tools: readonly Tool[], effects: boolean) {
    this.#store = store
    this.#clock = clock
    this.#tools = new Map(tools.flatMap((each) => [[each.name, each] as const, [each.id, each] as const]))
    this.#effects = effects
  }

  async close(): Promise<void> {
    await this.#runtime?.close({ grace: 0 })
  }

  /** Loads all recorded calls as settled, so that nested calls of a body join their records. */
  async #load({ calls, attachments, tenant }: Recording): Promise<void> {
    for (const { id, mediaType, name, base64 } of attachments)
      await this.#store.commit({
        guards: [],
        attachments: [{ id, tenant, mediaType, name, data: Buffer.from(base64, 'base64') }],
        events: [],
      })
    for (const { record: call, steps, waits } of calls) {
      const ended =
        call.outcome === null
          ? { outcome: encode(unsettled), state: 'settled' as const, settledAt: this.#clock.now() }
          : {}
      const settled = { ...call, ...ended, tool: this.#toolKey(call) }
      if (call.uid > this.#lastUid) this.#lastUid = call.uid
      await this.#store.commit({
        guards: [],
        insertCall: { ...settled, owner: null },
        steps,
        insertWaits: waits,
        events: [],
      })
    }
  }

  #findTool({ tool, options }: CallRecord): Tool | undefined {
    const key = tool.split('@')[0] as string
    return this.#tools.get(optionsOf({ options }).name ?? key) ?? this.#tools.get(key)
  }

  /** The tool key for this runtime: tools of a session or a provider are mapped to the given tools. */
  #toolKey(call: CallRecord): string {
    return call.tool.includes('@') ? (this.#findTool(call)?.id ?? call.tool) : call.tool
  }

  /** True for tools that the runtime adds itself: task tools and tool search. */
  #isBuiltIn(name: string): boolean {
    return name === toolSearchName || this.#runtime?.tools.list().some((each) => each.name === name) === true
  }

  async replayCall(call: RecordedCall): Promise<ReplayResult> {
    const { record: was } = call
    const { task, root, absent } = optionsOf(was)
    if (was.outcome === null) return skipped('it has not ended')
    if (task) return skipped('it ran as a task')
    if (root !== undefined) return skipped('it is a nested call and is replayed with its parent')
    const [key = ''] = was.tool.split('@')
    const tool = this.#findTool(was)
    if (!tool && this.#isBuiltIn(key)) return skipped('it is a built-in tool of the runtime')
    if (!tool)
      return absent
        ? skipped('the tool did not exist when it was recorded')
        : { how: 'checked', differences: [`tool '${key}' no longer exists`] }
    const problems = await this.#checkArguments(tool, was)
    if (problems.length > 0 || was.attempt === 0) return { how: 'checked', differences: problems }
    // The body did not determine these outcomes.
    const { status } = decode(was.outcome) as unknown as Outcome
    if (status === 'cancelled' || status === 'unknown')
      return { how: 'checked', why: `it ended as ${status}`, differences: [] }
    if (!this.#effects && onCrashOf(tool) !== 'rerun')
      return { how: 'checked', why: 'it must not run twice', differences: [] }
    const differences = await this.#run(call)
    const elsewhere = differences.find((each) => each === runsAgent || each === usesConnection)
    return elsewhere === undefined ? { how: 'run', differences } : skipped(elsewhere)
  }

  /** Checks the arguments by the current schema: as given, or as changed by hooks, people or the tool itself. */
  async #checkArguments(tool: Tool, { args, input, outcome }: CallRecord): Promise<string[]> {
    const wasInvalid = outcome?.includes('"invalid_arguments"') === true && args === null
    let checked: { ok: boolean; problems?: readonly { path: string; message: string }[] }
    try {
      checked = await tool.input.check(decode(input))
      if (!checked.ok && args !== null && args !== input) checked = await tool.input.check(decode(args))
    } catch (error) {
      return [`its arguments could not be checked: ${(error as Error).message}`]
    }
    if (wasInvalid) return checked.ok ? ['its arguments were invalid and are now valid'] : []
    return checked.ok
      ? []
      : (checked.problems ?? []).map(({ path, message }) => `arguments${path === '' ? '' : ` ${path}`}: ${message}`)
  }

  async #run(call: RecordedCall): Promise<string[]> {
    const { record: was, steps } = call
    const now = { call, taken: new Set<string>(), found: [] as string[] }
    this.#current = now
    const { args, startedAt, trouble } = was
    // Reset the call to the state before its outcome was written: the last attempt runs again, and its waits are
    // answered.
    const attempt = was.attempt - 1
    const terms = JSON.stringify({
      ...parseCallTerms(was.terms ?? '{}'),
      onCrash: 'rerun',
    } satisfies CallTerms)
    const left = { state: 'running', wait: null, outcome: null, settledAt: null, deaths: 0 } as const
    const progress = { ...left, args, terms, attempt, startedAt, trouble }
    await this.#store.commit({ guards: [], updateCall: { uid: was.uid, progress, release: true }, events: [] })
    for (let looks = 0; looks < 60; looks++) {
      await this.#clock.advance(looks < 5 ? 100 : '1h')
      const ended = await this.#store.call(was.uid)
      if (ended?.outcome === null || ended?.outcome === undefined) continue
      const outcome = decode(ended.outcome) as unknown as Outcome
      now.found.push(...(await this.#newTasks(was)))
      const stopped = now.found.length > 0 && outcome.status !== 'success'
      if (!stopped) now.found.push(...outcomeDifferences(was.outcome as string, ended.outcome))
      for (const { key } of stopped ? [] : steps)
        if (key.startsWith(stepPrefix) && !now.taken.has(key))
          now.found.push(`step '${key.slice(stepPrefix.length)}' no longer runs`)
      return now.found
    }
    return [...now.found, 'it does not end']
  }

  /** Tasks that the body started and that are not in the recording. */
  async #newTasks({ position: { tenant, session } }: CallRecord): Promise<string[]> {
    const more = await this.#store.callsOf({ tenant, session }, { after: this.#lastUid, limit: 200 })
    this.#lastUid = more.at(-1)?.uid ?? this.#lastUid
    return more.flatMap((call) =>
      optionsOf(call).task
        ? `it starts '${describeCall(call)?.tool}' in the background; the recording has no such task`
        : [],
    )
  }

  /** Wraps a tool so that its body cannot do anything that is not recorded. */
  #guardedTool(tool: Tool): Tool {
    const body = (input: never, ctx: ToolContext): unknown => {
      // An unrecorded task; #newTasks reports it.
      if (ctx.task) throw new ReplayStopped('Not on record')
      const now = this.#current
      const mine =
        now &&
        now.call.record.position.session === ctx.session &&
        (optionsOf(now.call.record).callId ?? now.call.record.position.id) === ctx.callId
      if (!now || !mine) {
        now?.found.push(`it calls '${tool.name}'; the recording has no such call`)
        throw new ReplayStopped('Not on record')
      }
      return tool.execute(input, guardContext(ctx, now))
    }
    return withBody(tool, body, this.#effects ? { onCrash: 'rerun' } : {})
  }
}

/** The calls of an agent are recorded in its own session. */
const runsAgent = 'it runs an agent, which replay does not repeat'
/** Connection tokens are never recorded. */
const usesConnection = 'it uses a connection, whose token is not recorded'
const unsettled: Outcome = {
  status: 'unknown',
  unknown: { message: 'It had not ended when it was recorded', startedAt: 0, evidence: null },
}

const outcomeDifferences = (was: string, is: string): string[] =>
  difference(was, is).map((each) => each.replace(/^input/, 'outcome'))

/** Stops a body before it does anything external that is not recorded. */
function guardContext(
  ctx: ToolContext,
  now: { readonly call: RecordedCall; readonly taken: Set<string>; readonly found: string[] },
): ToolContext {
  const recorded = new Set(now.call.steps.map(({ key }) => key))
  const stop = (what: string): never => {
    now.found.push(what)
    throw new ReplayStopped(what)
  }
  const step = (id: string, ...rest: unknown[]): unknown => {
    const key = stepKeys.step(id)
    if (!recorded.has(key)) return stop(`step '${id}' is new, and was not run`)
    now.taken.add(key)
    return (ctx.step as (...given: unknown[]) => unknown)(id, ...rest)
  }
  const later = (how: { name?: string } = {}): unknown =>
    now.call.waits.some(({ name }) => name === (how.name ?? 'later'))
      ? ctx.later(how)
      : stop('it waits for an external answer; the recording has no such wait')
  const ask = (question: Question): unknown =>
    now.call.waits.some(({ name }) => name === waitNames.question(question.name ?? ''))
      ? ctx.ask(question)
      : stop('it asks a person; the recording has no such question')
  let completions = 0
  const completeRecorded = (request: string | { name?: string }): unknown => {
    const { name } = typeof request === 'string' ? {} : request
    return recorded.has(stepKeys.completion(name, () => ++completions))
      ? ctx.complete(request as string)
      : stop('it calls a model; the recording has no such call')
  }
  const turn = (): never => stop(runsAgent)
  const connection = (): never => stop(usesConnection)
  const own: Partial<Record<keyof ToolContext, unknown>> = {
    step,
    later,
    ask,
    complete: completeRecorded,
    turn,
    connection,
  }
  return new Proxy(ctx, {
    get(target, name) {
      const value: unknown = name in own ? own[name as keyof ToolContext] : Reflect.get(target, name, target)
      return value
    },
  })
}
