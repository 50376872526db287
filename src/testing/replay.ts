// A recorded session as a test (KIT-3): the tools as they are now, given what was asked then. Each call is taken up as after a crash at its end: its recorded
// steps and answers stand for the outside, so nothing is done again; what would differ is shown call by call.

import { difference } from '../engine/replay-difference.ts'
import type { CallOptions, CallRecord, CallTerms } from '../store/records/call-record.ts'
import { completionKey } from '../store/records/completion-key.ts'
import { isTurn } from '../store/records/conversation.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { decode, encode } from '../core/value.ts'
import { createRuntime } from '../index.ts'
import type { Runtime, RuntimeOptions } from '../index.ts'
import type { RecordedCall, Recording } from '../index.ts'
import type { Session } from '../index.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { openSealed } from '../store/open-encrypted.ts'
import type { Store } from '../store/store.ts'
import type { Question, ToolContext } from '../tools/context/context.ts'
import { onCrashOf } from '../tools/hints.ts'
import type { Tool } from '../tools/tool.ts'
import { toolSearchName } from '../tools/tool-search.ts'
import { withBody } from '../tools/derive-tool.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'

export interface ReplayOptions extends Pick<RuntimeOptions, 'keys' | 'sizes' | 'output' | 'hooks'> {
  /** As they are now. */
  readonly tools: readonly Tool[]
  /** Runs the bodies of tools, too, that say they must not run twice: only where they do nothing here. Default: those are compared by their arguments alone. */
  readonly effects?: boolean
}

export interface ReplayedCall {
  readonly callId: string
  readonly batch: string
  readonly tool: string
  /** `run`: its body. `checked`: its arguments alone. `skipped`: neither, as `why` says. */
  readonly how: 'run' | 'checked' | 'skipped'
  readonly why?: string
  /** None: nothing would differ. */
  readonly differences: readonly string[]
}

export interface Replay {
  readonly same: boolean
  readonly calls: readonly ReplayedCall[]
  /** For people: what differs, call by call. */
  readonly text: string
}

/** What is on record of a session, to be kept beside a test. */
export const record = (session: Session): Promise<Recording> => session.recording()

export async function replay(of: Session | Recording, options: ReplayOptions): Promise<Replay> {
  const recording = 'recording' in of ? await of.recording() : of
  if (recording.format !== 1)
    throw new PawlError(
      'config_invalid',
      `The format of the recording is ${String(recording.format)}; this version reads 1.`,
    )
  const stage = await Stage.open(recording, options)
  const calls: ReplayedCall[] = []
  try {
    for (const call of recording.calls) {
      const about = aboutOf(call.record)
      if (about) calls.push({ ...about, ...(await stage.replayed(call)) })
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

const optionsOf = ({ options }: Pick<CallRecord, 'options'>): CallOptions =>
  options === null ? {} : (JSON.parse(options) as CallOptions)

/** Null for what no tool did: turns, and what the runtime keeps for itself. */
function aboutOf(call: CallRecord): Pick<ReplayedCall, 'callId' | 'batch' | 'tool'> | null {
  const [key = ''] = call.tool.split('@')
  const { callId = call.position.id, name = key, batch = call.position.batch } = optionsOf(call)
  return isTurn(call) || key.startsWith('pawl:') ? null : { callId, batch, tool: name }
}

type Told = Pick<ReplayedCall, 'how' | 'why' | 'differences'>
const skipped = (why: string): Told => ({ how: 'skipped', why, differences: [] })

class Stopped extends Error {}

class Stage {
  readonly #store: Store
  readonly #clock: ManualClock
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #effects: boolean
  #runtime: Runtime | null = null
  /** The last call that is known of. */
  #last = ''
  /** The call whose body is run now. */
  #now: { readonly call: RecordedCall; readonly taken: Set<string>; readonly found: string[] } | null = null

  static async open(recording: Recording, { tools, effects = false, ...options }: ReplayOptions): Promise<Stage> {
    const clock = manualClock(
      Math.max(0, ...recording.calls.map(({ record: { settledAt, createdAt } }) => settledAt ?? createdAt)) + 1,
    )
    const store = memoryStore({ clock })
    // What was sealed is in the clear in a recording, and is sealed here again.
    const stage = new Stage(await openSealed(store, options.keys), clock, tools, effects)
    await stage.#fill(recording)
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const watched = tools.map((each) => stage.#watched(each))
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

  /** All as it was, and all of it over: what a body calls again is found. */
  async #fill({ calls, attachments, tenant }: Recording): Promise<void> {
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
      const settled = { ...call, ...ended, tool: this.#keyOf(call) }
      if (call.uid > this.#last) this.#last = call.uid
      await this.#store.commit({
        guards: [],
        insertCall: { ...settled, owner: null },
        steps,
        insertWaits: waits,
        events: [],
      })
    }
  }

  #find({ tool, options }: CallRecord): Tool | undefined {
    const key = tool.split('@')[0] as string
    return this.#tools.get(optionsOf({ options }).name ?? key) ?? this.#tools.get(key)
  }

  /** What a record calls the tool here: a session's own, or a provider's, is one of those that are given. */
  #keyOf(call: CallRecord): string {
    return call.tool.includes('@') ? (this.#find(call)?.id ?? call.tool) : call.tool
  }

  /** Tools that no host gives: for tasks, and to look for others. */
  #isOurs(name: string): boolean {
    return name === toolSearchName || this.#runtime?.tools.list().some((each) => each.name === name) === true
  }

  async replayed(call: RecordedCall): Promise<Told> {
    const { record: was } = call
    const { task, root, absent } = optionsOf(was)
    if (was.outcome === null) return skipped('it has not ended')
    if (task) return skipped('it ran as a task')
    if (root !== undefined) return skipped('it ran under another call, and is replayed with that')
    const [key = ''] = was.tool.split('@')
    const tool = this.#find(was)
    if (!tool && this.#isOurs(key)) return skipped('it is a tool of the runtime itself')
    if (!tool)
      return absent
        ? skipped('there was no such tool then')
        : { how: 'checked', differences: [`there is no tool '${key}' any more`] }
    const problems = await this.#problems(tool, was)
    if (problems.length > 0 || was.attempt === 0) return { how: 'checked', differences: problems }
    // How these ended was not for their bodies to say.
    const { status } = decode(was.outcome) as unknown as Outcome
    if (status === 'cancelled' || status === 'unknown')
      return { how: 'checked', why: `it ended as ${status}`, differences: [] }
    if (!this.#effects && onCrashOf(tool) !== 'rerun')
      return { how: 'checked', why: 'it says that it must not run twice', differences: [] }
    const differences = await this.#run(call)
    const elsewhere = differences.find((each) => each === letsAgentWork || each === usesConnection)
    return elsewhere === undefined ? { how: 'run', differences } : skipped(elsewhere)
  }

  /** Of the arguments, by the schema as it is now: as they were given, or as hooks, people or the tool itself had made them. */
  async #problems(tool: Tool, { args, input, outcome }: CallRecord): Promise<string[]> {
    const wasInvalid = outcome?.includes('"invalid_arguments"') === true && args === null
    let checked: { ok: boolean; problems?: readonly { path: string; message: string }[] }
    try {
      checked = await tool.input.check(decode(input))
      if (!checked.ok && args !== null && args !== input) checked = await tool.input.check(decode(args))
    } catch (error) {
      return [`its arguments could not be checked: ${(error as Error).message}`]
    }
    if (wasInvalid) return checked.ok ? ['its arguments were not valid, and are now'] : []
    return checked.ok
      ? []
      : (checked.problems ?? []).map(({ path, message }) => `arguments${path === '' ? '' : ` ${path}`}: ${message}`)
  }

  async #run(call: RecordedCall): Promise<string[]> {
    const { record: was, steps } = call
    const now = { call, taken: new Set<string>(), found: [] as string[] }
    this.#now = now
    const { args, startedAt, trouble } = was
    // As its worker had left it when all but the end was on record: the attempt that ended it is made again, and what it waited for is there.
    const attempt = was.attempt - 1
    const terms = JSON.stringify({
      ...(JSON.parse(was.terms ?? '{}') as CallTerms),
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
      now.found.push(...(await this.#started(was)))
      const stopped = now.found.length > 0 && outcome.status !== 'success'
      if (!stopped) now.found.push(...differing(was.outcome as string, ended.outcome))
      for (const { key } of stopped ? [] : steps)
        if (key.startsWith(stepPrefix) && !now.taken.has(key))
          now.found.push(`step '${key.slice(stepPrefix.length)}' is no longer taken`)
      return now.found
    }
    return [...now.found, 'it does not end']
  }

  /** Tasks that a body has started which are not on record. */
  async #started({ position: { tenant, session } }: CallRecord): Promise<string[]> {
    const more = await this.#store.callsOf({ tenant, session }, { after: this.#last, limit: 200 })
    this.#last = more.at(-1)?.uid ?? this.#last
    return more.flatMap((call) =>
      optionsOf(call).task ? `it starts '${aboutOf(call)?.tool}' in the background, which it did not` : [],
    )
  }

  /** The same tool, which does nothing that was not done before. */
  #watched(tool: Tool): Tool {
    const body = (input: never, ctx: ToolContext): unknown => {
      // Not on record, and seen as such when it was started.
      if (ctx.task) throw new Stopped('Not on record')
      const now = this.#now
      const mine =
        now &&
        now.call.record.position.session === ctx.session &&
        (optionsOf(now.call.record).callId ?? now.call.record.position.id) === ctx.callId
      if (!now || !mine) {
        now?.found.push(`it calls '${tool.name}', which it did not`)
        throw new Stopped('Not on record')
      }
      return tool.execute(input, guarded(ctx, now))
    }
    return withBody(tool, body, this.#effects ? { onCrash: 'rerun' } : {})
  }
}

const stepPrefix = 'step:'
/** What an agent did is on record in its own session. */
const letsAgentWork = 'it lets an agent work, and that is not done again'
/** Tokens are on record nowhere. */
const usesConnection = 'it uses what somebody has connected, and that is not on record'
const unsettled: Outcome = {
  status: 'unknown',
  unknown: { message: 'It had not ended when it was recorded', startedAt: 0, evidence: null },
}

const differing = (was: string, is: string): string[] =>
  difference(was, is).map((each) => each.replace(/^input/, 'outcome'))

/** A body that wants something of the outside that is not on record is stopped before it happens. */
function guarded(
  ctx: ToolContext,
  now: { readonly call: RecordedCall; readonly taken: Set<string>; readonly found: string[] },
): ToolContext {
  const recorded = new Set(now.call.steps.map(({ key }) => key))
  const stop = (what: string): never => {
    now.found.push(what)
    throw new Stopped(what)
  }
  const step = (id: string, ...rest: unknown[]): unknown => {
    const key = `${stepPrefix}${id}`
    if (!recorded.has(key)) return stop(`step '${id}' is new, and was not run`)
    now.taken.add(key)
    return (ctx.step as (...given: unknown[]) => unknown)(id, ...rest)
  }
  const later = (how: { name?: string } = {}): unknown =>
    now.call.waits.some(({ name }) => name === (how.name ?? 'later'))
      ? ctx.later(how)
      : stop('it waits for the outside, which it did not')
  const ask = (question: Question): unknown =>
    now.call.waits.some(({ name }) => name === `pawl:question:${question.name ?? ''}`)
      ? ctx.ask(question)
      : stop('it asks a person, which it did not')
  let asked = 0
  const asks = (request: string | { name?: string }): unknown => {
    const { name } = typeof request === 'string' ? {} : request
    return recorded.has(completionKey(name, () => ++asked))
      ? ctx.complete(request as string)
      : stop('it asks a model, which it did not')
  }
  const turn = (): never => stop(letsAgentWork)
  const connection = (): never => stop(usesConnection)
  const own: Partial<Record<keyof ToolContext, unknown>> = { step, later, ask, complete: asks, turn, connection }
  return new Proxy(ctx, {
    get(target, name) {
      const value: unknown = name in own ? own[name as keyof ToolContext] : Reflect.get(target, name, target)
      return value
    },
  })
}
