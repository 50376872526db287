// A session: the scope of a conversation. Here calls are asked for, in batches or one by one, and here the feed is read.

import type { Feed, ReadFeed } from '../feed/feed.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { type Ids, isName, longestName } from '../core/ids.ts'
import { recorded } from '../core/value.ts'
import { definePolicy, type PolicyDefinition } from '../policy/rules.ts'
import type { ResolveAnswer } from '../engine/engine.ts'
import type { ClientCall, ClientCallAt } from '../approvals/client-calls.ts'
import type { People } from '../approvals/approvals.ts'
import type { Answer } from '../store/records/resolution.ts'
import type { SessionEnd } from './session-end.ts'
import type { Notices } from '../tasks/notices.ts'
import type { SessionFiles } from '../core/session-files.ts'
import type { SessionSecrets, SessionValues } from '../core/session-values.ts'
import type { Schedules } from '../schedules/schedules.ts'
import type { Triggers } from '../schedules/triggers.ts'
import type { Messages, SessionUsage, StartTurn, Turn } from '../models/turn-interface.ts'
import type { Attachments, Outputs } from '../tools/context/context.ts'
import type { Tasks, TasksOfSession } from '../tools/context/tasks.ts'
import type { Registry } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import type { Toolset } from '../tools/toolset.ts'
import {
  type CallAsk,
  type CallOutcome,
  checkAsk,
  checkAsks,
  checkBatch,
  checkTurn,
  type OpenCall,
  type Until,
} from './call-request.ts'
import type { Place } from './call-record.ts'
import type { Batches } from './batch.ts'
import type { Calls } from './calls.ts'
import type { Records } from './record-reader.ts'
import type { Recording } from './recording.ts'
import { Cancel } from './collect-outcomes.ts'
import { EnabledCapabilities } from './enabled-capabilities.ts'
import type { SessionCapabilities, CapabilitySwitches } from './capabilities.ts'

export interface RunOptions {
  /** Names the model message the calls come from; without it, ids must be unique in the session. */
  readonly batch?: string
  /** Names the turn the calls belong to, and all that they call: `budgets.turn` is for each of them. */
  readonly turn?: string
  /** Cancels the batch. */
  readonly signal?: AbortSignal
  /** A call that takes longer than this goes on in the background, where its tool can: the model gets a handle, and is told the result later. */
  readonly background?: Duration
  /** `stop`: the first failure cancels what runs and does not start the rest. Default: the batch goes on. */
  readonly onFailure?: 'continue' | 'stop'
  /** `settled`, the default: returns when all calls are. */
  readonly until?: 'settled'
}

/** Returns when all calls are settled or wait for the outside (`waiting`), or after so long. */
export type RunUntil = Omit<RunOptions, 'until'> & { readonly until: Until }

export interface CallHandle<T> {
  readonly id: string
  readonly outcome: Promise<CallOutcome<T>>
  /** Asks it to stop. False if it was settled already. */
  cancel(reason?: string, by?: string): Promise<boolean>
}

export interface Session {
  readonly id: string
  readonly tenant: string
  /**
   * What a model may be told of, sorted by name: of providers' tools those whose contract is here, of capabilities' tools those that are on as far as this handle
   * has heard. loadTools looks.
   */
  readonly tools: readonly Tool[]
  /** Fetches the contracts that are missing, and looks what is switched on; then the same. Tools of a source that is away are left out. */
  loadTools(): Promise<readonly Tool[]>
  /** Starts the calls now, in order; resolves with one outcome each, in that order. Asked again, it joins. */
  run(calls: readonly CallAsk[], options?: RunOptions): Promise<CallOutcome[]>
  /** May return early; calls that are open then go on, and the same batch asked again joins them. */
  run(calls: readonly CallAsk[], options: RunUntil): Promise<(CallOutcome | OpenCall)[]>
  /** One call, typed by its tool. */
  call<Ask, Output>(
    tool: Tool<Ask, Output>,
    input: Ask,
    options?: Omit<CallAsk, 'id' | 'name' | 'input'> & { id?: string; batch?: string; turn?: string },
  ): CallHandle<Output>
  /**
   * Runs the model loop: the model is asked, the tools that it asks for are run, and it is asked again, until it has answered. Each answer and each call is
   * on record: after a crash the turn goes on, on whatever worker knows the model. One turn at a time in a session; others wait.
   */
  turn(turn: StartTurn): Turn
  /** What the session can do besides: bundles of tools, instructions, limits and hooks. */
  readonly capabilities: SessionCapabilities
  /** The conversation. */
  readonly messages: Messages
  /** All that is on record of its calls, as plain JSON: for `replay` of 'pawl/testing'. In the clear. */
  recording(): Promise<Recording>
  /** What models have cost here, by model and by tool. */
  usage(): Promise<SessionUsage>
  /** Asks all open calls of this session to stop, on whatever worker they are; tells how many were asked. */
  cancel(reason?: string, by?: string): Promise<number>
  /**
   * Ends the session: no task is started in it any more, and those that are open are cancelled or go on, as each was started or as `tasks` says. It is
   * done after a crash too. False if it had ended before.
   */
  end(how?: SessionEnd): Promise<boolean>
  /** The result of a tool that the caller runs. Only what was handed out in this session can be answered, once. */
  answer(callId: string, answer: Answer, at?: ClientCallAt): Promise<ResolveAnswer>
  /** What was handed to the caller and has no result yet. */
  pendingClientCalls(): Promise<ClientCall[]>
  /** A new message of the user: what waits for people, or for the caller, is called off; tells how many calls. What runs goes on. */
  supersede(reason?: string, by?: string): Promise<number>
  /** The facts of this session: those on record after the cursor, then the new ones as they come. */
  readonly events: ReadFeed
  /** The calls of this session as they are on record. */
  readonly calls: Calls
  /** Work that outlives the call, the turn and the process that began it. */
  readonly tasks: Tasks
  /** Runs of tools, and messages, at times that are given once. */
  readonly schedules: Schedules
  /** Tasks and messages that begin when an event is emitted. */
  readonly triggers: Triggers
  /** Files of this session. What tasks said and gave is below /.background, where only the runtime writes. */
  readonly files: SessionFiles
  /** JSON values of this session, by key. */
  readonly values: SessionValues
  /** Secrets of this session: set here, and handed to bodies alone. */
  readonly secrets: SessionSecrets
  /** What the session, and its model, is to be told: tasks that have ended, asked or told something, and what came due. */
  readonly notices: Notices
  /** Whole results, where the model was shown a part. */
  readonly outputs: Outputs
  /** The bytes behind attachments of this tenant. */
  readonly attachments: Pick<Attachments, 'read'>
}

export interface SessionOptions {
  readonly tenant?: string
  readonly principal?: string
  /**
   * The session's own tools, above the runtime's. They stand for batches of this handle, and, until other ones are given for the session,
   * for handles without any and for calls on record. An empty list ends them.
   */
  readonly tools?: readonly Tool[]
  /** Rules of this session beside the runtime's; the strictest wins. Data: they go on record with its calls and hold on every worker. */
  readonly policy?: Omit<PolicyDefinition, 'decide'>
  /** Switched on before anything runs here; they stay on. */
  readonly capabilities?: readonly string[]
  /** False: nobody is there who could approve, connect or answer; what would ask is refused at once. Default: true. */
  readonly attended?: boolean
}

export interface SessionHost {
  readonly batches: Batches
  readonly feed: Feed
  readonly records: Records
  readonly ids: Ids
  readonly registry: Registry
  readonly works: boolean
  readonly people: Pick<People, 'inbox' | 'clients'>
  cancel(uid: string, why: { reason: string; by: string | null }): Promise<boolean>
  tasks(owner: Place): TasksOfSession
  readonly switches: CapabilitySwitches
  /** Whether a call is a task, or runs under one, or for an agent that does. */
  isUnderTask(uid: string): Promise<boolean>
  end(owner: Place, how?: SessionEnd): Promise<boolean>
  /** `first` is waited for before it begins. */
  turn(place: Place, turn: StartTurn, first: () => Promise<void> | undefined): Turn
  messages(of: { tenant: string; session: string }): Messages
  usage(of: { tenant: string; session: string }): Promise<SessionUsage>
  schedules(owner: Place): Schedules
  triggers(owner: Place): Triggers
  notices(of: { tenant: string; session: string }): Notices
  files(of: { tenant: string; session: string }): SessionFiles
  values(of: { tenant: string; session: string }): SessionValues
  secrets(of: { tenant: string; session: string }): SessionSecrets
}

const sessionTasks = (tasks: TasksOfSession): Tasks => ({ ...tasks, wait: (id, how = {}) => tasks.wait(id, how) })

const turnOf = (turn: string | undefined): { turn?: string } => (turn === undefined ? {} : { turn: checkTurn(turn) })

export function openSession(host: SessionHost, id: string, options: SessionOptions = {}): Session {
  const tenant = options.tenant ?? 'default'
  for (const [what, value] of [
    ['session id', id],
    ['tenant', tenant],
  ] as const) {
    if (!isName(value)) {
      throw new PawlError(
        'config_invalid',
        `The ${what} is ${JSON.stringify(value)}; it must be a string of 1 to ${longestName} characters.`,
      )
    }
  }
  if (options.tools && !host.works) {
    throw new PawlError(
      'config_invalid',
      'Tools of one session run where the session is; this runtime has worker: false and runs nothing.',
    )
  }
  const layer = options.tools && host.registry.layer(tenant, id, options.tools)
  const standing = (): Toolset => layer?.toolset ?? host.registry.live(tenant, id)
  const { principal = null } = options
  if (principal !== null && (typeof principal !== 'string' || !principal.isWellFormed()))
    throw new PawlError('config_invalid', 'The principal must be a text: the name or id of whoever acts.')
  const place = {
    tenant,
    session: id,
    principal,
    ...policyOf(options.policy),
    ...(options.attended === false ? { unattended: true as const } : {}),
  }
  let files: SessionFiles | undefined
  const switched = new EnabledCapabilities(host.switches, place, options.capabilities)
  const offered = (): Toolset | Promise<Toolset> => switched.offered(standing)
  return {
    id,
    tenant,
    get tools() {
      return switched.known(standing()).tools
    },
    async loadTools() {
      const set = standing()
      // Who is away has said so in the log.
      await Promise.allSettled(set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])))
      return (await offered()).tools
    },
    run: (async (
      calls: readonly CallAsk[],
      { batch, turn, signal, background, onFailure = 'continue', until = 'settled' }: Partial<RunUntil> = {},
    ) => {
      checkAsks(calls)
      const named = batch === undefined ? '' : checkBatch(batch)
      const after = background === undefined ? {} : { backgroundMs: milliseconds(background, 'background') }
      const found = offered()
      const tools = found instanceof Promise ? await found : found
      const within = tools === standing() ? {} : { within: tools.offered }
      const how = {
        tools,
        ...within,
        batch: named,
        onFailure,
        ...turnOf(turn),
        ...after,
        ...(signal ? { signal } : {}),
      }
      if (until === 'settled') return host.batches.run(place, calls, how)
      return host.records.until(() => host.batches.start(place, calls, how), until)
    }) as Session['run'],
    call<Ask, Output>(
      tool: Tool<Ask, Output>,
      input: Ask,
      how: { id?: string; batch?: string; turn?: string } = {},
    ): CallHandle<Output> {
      const { id: given, batch: named, turn, ...rest } = how
      const batch = named === undefined ? '' : checkBatch(named)
      const call = { ...rest, id: given ?? host.ids.next(), name: tool.name, input }
      checkAsk(call)
      const stop = new AbortController()
      let settled = false
      const outcome = host.batches
        .run(place, [call], {
          tools: standing(),
          batch,
          ...turnOf(turn),
          onFailure: 'continue',
          signal: stop.signal,
          byHost: true,
        })
        .then(([first]) => {
          settled = true
          return first as unknown as CallOutcome<Output>
        })
      outcome.catch(() => {}) // heard by whoever awaits it
      return {
        id: call.id,
        outcome,
        async cancel(reason = 'The call was cancelled', by) {
          if (settled) return false
          stop.abort(new Cancel(reason, by))
          return true
        },
      }
    },
    turn: (turn) => host.turn(place, turn, () => switched.begun()),
    capabilities: switched.handle,
    messages: host.messages({ tenant, session: id }),
    usage: () => host.usage({ tenant, session: id }),
    recording: () => host.records.recording({ tenant, session: id }),
    cancel: (reason = 'The session was cancelled', by) =>
      host.batches.cancel({ tenant, session: id }, new Cancel(reason, by), () =>
        host.records.open({ tenant, session: id }),
      ),
    end: (how) => host.end(place, how),
    answer: (callId, answer, at) => host.people.clients.answer({ tenant, session: id }, callId, answer, at),
    pendingClientCalls: () => host.people.clients.list({ tenant, session: id }),
    supersede: (reason = 'A new message came first', by) =>
      supersede(host, { tenant, session: id }, { reason, by: by ?? null }),
    events: host.feed.reader({ tenant, session: id }),
    calls: host.records.calls({ tenant, session: id }),
    tasks: sessionTasks(host.tasks(place)),
    get files() {
      return (files ??= host.files({ tenant, session: id }))
    },
    values: host.values({ tenant, session: id }),
    secrets: host.secrets({ tenant, session: id }),
    schedules: host.schedules(place),
    triggers: host.triggers(place),
    notices: host.notices({ tenant, session: id }),
    outputs: host.records.outputs({ tenant, session: id }),
    attachments: host.records.attachments({ tenant }),
  }
}

const page = 200

async function supersede(
  { people, cancel, isUnderTask }: SessionHost,
  of: { tenant: string; session: string },
  why: { reason: string; by: string | null },
): Promise<number> {
  const waiting = new Set((await people.clients.list(of)).map(({ call }) => call))
  for (let after = ''; ;) {
    const items = await people.inbox({ ...of, after, limit: page })
    for (const { call } of items) waiting.add(call)
    const last = items.at(-1)
    if (!last || items.length < page) break
    after = last.id
  }
  let ended = 0
  // Nobody waits here for what goes on in the background.
  for (const uid of waiting) if (!(await isUnderTask(uid)) && (await cancel(uid, why))) ended++
  return ended
}

/** Checked now, and in the form in which it is recorded. */
function policyOf(policy: SessionOptions['policy']): { policy?: PolicyDefinition } {
  if (policy === undefined) return {}
  if ('decide' in policy)
    throw new PawlError(
      'config_invalid',
      'The policy of a session is data: functions belong to createRuntime({ policy }).',
    )
  definePolicy(policy)
  return { policy: recorded(policy) }
}
