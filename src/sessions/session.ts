// A session, the scope of a conversation: runs calls and turns, and gives access to everything stored for it.

import { chain, isThenable, type MaybePromise } from '../core/maybe-promise.ts'
import { checkOptions } from '../core/check-options.ts'
import type { Feed, ReadFeed } from '../feed/event-feed.ts'
import { milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { formatValue } from '../core/format-value.ts'
import { isName, maxNameLength } from '../core/ids.ts'
import { toRecordedForm } from '../core/tool-value.ts'
import { definePolicy, type PolicyDefinition } from '../policy/rules.ts'
import type { ResolveAnswer } from '../engine/engine.ts'
import type { ClientCall, ClientCallAt } from '../approvals/pending-client-calls.ts'
import type { Approvals } from '../approvals/approvals.ts'
import type { Answer } from '../store/records/wait-resolution.ts'
import { cancelCall } from './cancel-call.ts'
import { supersede } from './supersede.ts'
import { endSession, type SessionEnd } from './session-end.ts'
import { type Notices, openNotices } from '../tasks/notices.ts'
import { openTasks, type TasksHost } from '../tasks/tasks.ts'
import type { SchedulesHost } from '../schedules/ports.ts'
import type { SessionStorage } from '../storage/session-storage.ts'
import type { SessionFiles } from '../core/session-files-interface.ts'
import type { SessionSecrets, SessionValues } from '../core/session-values-interface.ts'
import type { Scope } from '../core/scope.ts'
import { openSchedules, type Schedules } from '../schedules/schedules.ts'
import { openTriggers, type Triggers } from '../schedules/triggers.ts'
import type {
  Messages,
  SessionTurnHandles,
  SessionUsage,
  StartTurn,
  Turn,
  TurnOutput,
} from '../models/turn-interface.ts'
import type { Attachments, Outputs } from '../tools/context/tool-context.ts'
import type { Tasks, SessionTasks } from '../tools/context/task-interfaces.ts'
import { isTool, type Tool } from '../tools/tool.ts'
import type { AnySchema } from '../tools/schema.ts'
import type { Toolset } from '../tools/toolset.ts'
import {
  type CallAsk,
  type CallOutcome,
  checkCall,
  checkCalls,
  checkBatch,
  checkTurn,
  type OpenCall,
} from './call-request.ts'
import {
  type CallOptions,
  callOptions,
  type RunOptions,
  runOptions,
  type RunUntil,
  type SessionOptions,
  sessionOptions,
} from './session-options.ts'
import type { Caller } from './build-call-request.ts'
import type { Batches } from './run-batch.ts'
import { callEvents, callPosition } from './call-events.ts'
import type { Calls } from './session-calls.ts'
import type { RecordReader } from './read-call-records.ts'
import type { Recording } from './export-recording.ts'
import { type Batch, Cancel } from './collect-outcomes.ts'
import { batchRecorded, type Run, RunHandle } from './run-handle.ts'
import { EnabledCapabilities, type SessionCapabilities, type CapabilitySwitches } from './capability-switches.ts'

/** A call that session.call() started. */
export interface CallHandle<T> {
  /** The id of the call: the given one, or a generated one. */
  readonly id: string
  /** Resolves when the call is settled. Rejects only if the store or the runtime is lost. */
  readonly outcome: Promise<CallOutcome<T>>
  /** Resolves when the call is recorded: from then on it runs to its end even if this process is killed. */
  readonly accepted: Promise<void>
  /** Requests cancellation. Returns false if the call was already settled. */
  cancel(reason?: string, by?: string): Promise<boolean>
  /**
   * The events of this call, those already recorded first; ends with `call.settled`. With `live`, also its progress and
   * output.
   */
  readonly events: ReadFeed
}

/** The scope of a conversation: runs calls and turns, and gives access to everything stored for it. */
export interface Session {
  /** The id given to runtime.session(). */
  readonly id: string
  /** The tenant of the session; 'default' if none was given. */
  readonly tenant: string
  /**
   * Tools a model may be offered, sorted by name: provider tools whose contract is loaded, and tools of capabilities
   * that this handle knows to be on. `loadTools` refreshes both.
   */
  readonly tools: readonly Tool[]
  /**
   * Loads missing provider contracts and the enabled capabilities, then returns `tools`. Tools of an unreachable
   * provider are left out.
   */
  loadTools(): Promise<readonly Tool[]>
  /**
   * Starts the calls in order and resolves with one outcome per call, in the same order. Running the same batch again
   * joins it.
   *
   * @example
   * const [outcome] = await session.run([{ id: 'call_1', name: 'refund', input: { order: 'A1' } }], { batch: 'msg_7' })
   * if (outcome.status === 'success') console.log(outcome.value)
   */
  run(calls: readonly CallAsk[], options?: RunOptions): Run<CallOutcome[]>
  /** May return early. Open calls continue, and running the same batch again joins them. */
  run(calls: readonly CallAsk[], options: RunUntil): Run<(CallOutcome | OpenCall)[]>
  /**
   * Runs one call, typed by its tool.
   *
   * @example
   * const outcome = await session.call(refund, { order: 'A1', cents: 500 }).outcome
   */
  call<Ask, Output>(tool: Tool<Ask, Output>, input: Ask, options?: CallOptions): CallHandle<Output>
  /**
   * Runs the model loop: calls the model and the tools it requests until it has answered. Every answer and call is
   * recorded, so after a crash any worker that knows the model continues the turn. One turn runs at a time per
   * session; others wait.
   *
   * @example
   * const outcome = await session.turn({ model: 'main', message: 'Refund order A1' }).outcome
   * if (outcome.status === 'success') console.log(outcome.value.text)
   */
  turn<S extends AnySchema | undefined = undefined>(turn: StartTurn<S>): Turn<TurnOutput<S>>
  /** Switches bundles of tools, instructions, limits and hooks on and off. */
  readonly capabilities: SessionCapabilities
  /** The conversation. */
  readonly messages: Messages
  /** Recorded turns: to stream the open one after a reload, and to show the conversation in `useChat`. */
  readonly turns: SessionTurnHandles
  /** Exports the recorded calls as plain JSON, unencrypted: for `replay` of 'pawl/testing'. */
  recording(): Promise<Recording>
  /** Model usage and cost of the session, by model and by tool. */
  usage(): Promise<SessionUsage>
  /** Requests cancellation of all open calls of this session on every worker. Returns how many. */
  cancel(reason?: string, by?: string): Promise<number>
  /**
   * Ends the session: it accepts no new tasks, and open ones are cancelled or keep running, as `tasks` or their own
   * `onEnd` says. After a crash any worker completes this. Returns false if it had already ended.
   */
  end(how?: SessionEnd): Promise<boolean>
  /**
   * Supplies the result of a tool that the caller runs. Only a pending client call of this session can be answered, and
   * only once.
   */
  answer(callId: string, answer: Answer, at?: ClientCallAt): Promise<ResolveAnswer>
  /** Client calls that have no result yet. */
  pendingClientCalls(): Promise<ClientCall[]>
  /**
   * Call when the user sends a new message: cancels calls that wait for a person or for the caller. Running calls
   * continue. Returns how many were cancelled.
   */
  supersede(reason?: string, by?: string): Promise<number>
  /** Events of this session: recorded ones after the cursor, then new ones as they arrive. */
  readonly events: ReadFeed
  /** Recorded calls of this session. */
  readonly calls: Calls
  /** Work that outlives the call, the turn and the process that started it. */
  readonly tasks: Tasks
  /** Tool runs and messages at scheduled times. */
  readonly schedules: Schedules
  /** Subscriptions that start a task or deliver a message when an event is emitted. */
  readonly triggers: Triggers
  /** Files of this session. The runtime writes output and results of tasks below /.background, which is read-only. */
  readonly files: SessionFiles
  /** JSON values of this session, by key. */
  readonly values: SessionValues
  /** Secrets of this session. Only tool bodies can read them. */
  readonly secrets: SessionSecrets
  /** Notices for the session and its model: tasks that ended, asked or reported something, and due schedules. */
  readonly notices: Notices
  /** Complete results that the model saw truncated. */
  readonly outputs: Outputs
  /** Reads attachment bytes of this tenant. */
  readonly attachments: Pick<Attachments, 'read'>
  /**
   * A JSON value as people may see it: the secrets that this session and the runtime know are replaced by `[redacted]`.
   */
  redact<T>(value: T): Promise<T>
}

/** The part of turns that a session uses. turns/ is above sessions/. */
export interface SessionTurns {
  /** `before` is awaited before the turn starts. */
  start(caller: Caller, turn: StartTurn, before: () => Promise<void> | undefined): Turn
  messages(of: Scope): Messages
  handles(of: Scope): SessionTurnHandles
  usage(of: Scope): Promise<SessionUsage>
}

export interface SessionHost extends SchedulesHost, TasksHost {
  readonly batches: Batches
  readonly feed: Feed
  readonly records: RecordReader
  readonly works: boolean
  readonly approvals: Pick<Approvals, 'inbox' | 'clients'>
  readonly switches: CapabilitySwitches
  readonly turns: SessionTurns
  readonly storage: SessionStorage
}

const sessionTasks = (tasks: SessionTasks): Tasks => ({ ...tasks, wait: (id, how = {}) => tasks.wait(id, how) })

const turnOption = (turn: string | undefined): { turn?: string } =>
  turn === undefined ? {} : { turn: checkTurn(turn) }

export function openSession(host: SessionHost, id: string, options: SessionOptions = {}): Session {
  if (!isName(id))
    throw new PawlError(
      'config_invalid',
      `The session id is ${JSON.stringify(id)}; it must be a string of 1 to ${maxNameLength} characters.`,
    )
  checkOptions(options, sessionOptions, 'session()')
  const tenant = options.tenant ?? 'default'
  if (options.tools && !host.works) {
    throw new PawlError(
      'config_invalid',
      'This runtime has `worker: false` and cannot run `tools` of a session. Open the session on a worker.',
    )
  }
  const layer = options.tools && host.registry.setSessionTools(tenant, id, options.tools)
  const currentToolset = (): Toolset => layer?.toolset ?? host.registry.toolsetFor(tenant, id)
  const { principal = null } = options
  const caller = {
    tenant,
    session: id,
    principal,
    ...sessionPolicy(options.policy),
    ...(options.attended === false ? { unattended: true as const } : {}),
  }
  const scope: Scope = { tenant, session: id }
  /** Parts that are created on first use: most sessions use few of them. */
  const parts: { -readonly [Part in keyof Session]?: Session[Part] } = {}
  const capabilities = new EnabledCapabilities(host.switches, caller, options.capabilities)
  const offeredTools = (): MaybePromise<Toolset> => capabilities.currentTools(currentToolset)
  const startBatch = (calls: readonly CallAsk[], how: Partial<RunUntil>): MaybePromise<Batch> => {
    checkCalls(calls)
    checkOptions(how, runOptions, 'run()', 'call_invalid')
    const { batch, turn, signal, background, onFailure = 'continue' } = how
    const batchName = batch === undefined ? '' : checkBatch(batch)
    const backgroundOption = background === undefined ? {} : { backgroundMs: milliseconds(background, 'background') }
    return chain(offeredTools(), (tools) =>
      host.batches.start(caller, calls, {
        tools,
        ...(tools === currentToolset() ? {} : { within: tools.offered }),
        batch: batchName,
        onFailure,
        ...turnOption(turn),
        ...backgroundOption,
        ...(signal ? { signal } : {}),
      }),
    )
  }
  return {
    id,
    tenant,
    get tools() {
      return capabilities.cachedTools(currentToolset()).tools
    },
    async loadTools() {
      const set = currentToolset()
      // An unreachable provider is logged where its connection fails.
      await Promise.allSettled(set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])))
      return (await offeredTools()).tools
    },
    run: ((calls: readonly CallAsk[], how: Partial<RunUntil> = {}) => {
      let started: MaybePromise<Batch> | null = null
      const run = async (): Promise<(CallOutcome | OpenCall)[]> => {
        started = startBatch(calls, how)
        const batch = isThenable(started) ? await started : started
        const { until = 'settled' } = how
        return until === 'settled' ? batch.outcomes : host.records.waitUntil(batch, until)
      }
      const outcomes = run()
      return new RunHandle(outcomes, async () => {
        const batch = await started
        if (batch) await batchRecorded(host.engine, batch)
        else await outcomes // rejected: the calls or the options are invalid
      })
    }) as Session['run'],
    call<Ask, Output>(tool: Tool<Ask, Output>, input: Ask, how: CallOptions = {}): CallHandle<Output> {
      if (!isTool(tool))
        throw new PawlError('call_invalid', `The tool of call() is ${formatValue(tool)}; it must be made with tool().`)
      checkOptions(how, callOptions, 'call()', 'call_invalid')
      const { id: ownId, batch: batchName, turn, ...rest } = how
      const batch = batchName === undefined ? '' : checkBatch(batchName)
      const call = { ...rest, id: ownId ?? host.ids.next(), name: tool.name, input }
      checkCall(call)
      const stop = new AbortController()
      let settled = false
      let accepted: Promise<void> | undefined
      const started = host.batches.start(caller, [call], {
        tools: currentToolset(),
        batch,
        ...turnOption(turn),
        onFailure: 'continue',
        signal: stop.signal,
        byHost: true,
      })
      const outcome = started.outcomes.then(([first]) => {
        settled = true
        return first as unknown as CallOutcome<Output>
      })
      outcome.catch(() => {}) // prevents an unhandled rejection if the caller does not await it
      return {
        id: call.id,
        outcome,
        get accepted() {
          return (accepted ??= batchRecorded(host.engine, started))
        },
        async cancel(reason = 'The call was cancelled', by) {
          if (settled) return false
          stop.abort(new Cancel(reason, by))
          return true
        },
        events: callEvents(host, callPosition(scope, batch, call), outcome),
      }
    },
    turn: (turn) => host.turns.start(caller, turn, () => capabilities.switchOnInitial()) as Turn<never>,
    capabilities: capabilities.handle,
    get messages() {
      return (parts.messages ??= host.turns.messages(scope))
    },
    get turns() {
      return (parts.turns ??= host.turns.handles(scope))
    },
    usage: () => host.turns.usage(scope),
    recording: () => host.records.recording(scope),
    cancel: (reason = 'The session was cancelled', by) =>
      host.batches.cancel(scope, new Cancel(reason, by), () => host.records.openCalls(scope)),
    end: (how) => endSession(host, caller, how),
    answer: (callId, answer, at) => host.approvals.clients.answer(scope, callId, answer, at),
    pendingClientCalls: () => host.approvals.clients.list(scope),
    supersede: (reason = 'A new message came first', by) => supersede(host, scope, { reason, by: by ?? null }),
    get events() {
      return (parts.events ??= host.feed.reader(scope))
    },
    get calls() {
      return (parts.calls ??= {
        ...host.records.calls(scope),
        cancel: (call, how) => cancelCall(host, scope, call, how),
      })
    },
    get tasks() {
      return (parts.tasks ??= sessionTasks(openTasks(host, caller)))
    },
    get files() {
      return (parts.files ??= host.storage.files(scope))
    },
    get values() {
      return (parts.values ??= host.storage.values(scope))
    },
    get secrets() {
      return (parts.secrets ??= host.storage.secrets(scope))
    },
    get schedules() {
      return (parts.schedules ??= openSchedules(host, caller))
    },
    get triggers() {
      return (parts.triggers ??= openTriggers(host, caller))
    },
    get notices() {
      return (parts.notices ??= openNotices(host, scope))
    },
    get outputs() {
      return (parts.outputs ??= host.records.outputs(scope))
    },
    get attachments() {
      return (parts.attachments ??= host.records.attachments(scope))
    },
    async redact(value) {
      await host.knownSecrets.refresh(scope)
      return host.redact.deep(value)
    },
  }
}

/** Validates the policy and returns its recorded form. */
function sessionPolicy(policy: SessionOptions['policy']): { policy?: PolicyDefinition } {
  if (policy === undefined) return {}
  if ('decide' in policy)
    throw new PawlError(
      'config_invalid',
      '`policy` of a session must be data, but it has `decide`. Pass functions to createRuntime({ policy }).',
    )
  definePolicy(policy)
  return { policy: toRecordedForm(policy) }
}
