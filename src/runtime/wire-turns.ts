// Wires turns: the registered models and frames, the driver of turns, and the functions that sessions call. Called by
// runtime.ts.

import { endLateAgent } from '../sessions/session-end.ts'
import { movedCallNotice, openNotices, acknowledgeRows } from '../tasks/notices.ts'
import { learnSecrets } from '../storage/values/secrets.ts'
import { isInBackground } from '../tasks/is-background.ts'
import { readTask } from '../tasks/read-task.ts'
import type { BackgroundHost } from '../tasks/ports.ts'
import type { CallHost } from '../calls/ports.ts'
import type { Feed } from '../feed/event-feed.ts'
import type { Driver, Execution } from '../engine/engine.ts'
import { isTurn, turnTool } from '../store/records/conversation.ts'
import { isSealedUid } from '../store/records/call-record.ts'
import { chargeModel } from '../models/cost-ledger.ts'
import { type Model } from '../models/model.ts'
import type { Compaction, Frame, StartTurn, Turn } from '../models/turn-interface.ts'
import type { Caller } from '../sessions/build-call-request.ts'
import type { Batches } from '../sessions/run-batch.ts'
import type { RecordReader } from '../sessions/read-call-records.ts'
import type { SessionTurns } from '../sessions/session.ts'
import type { CapabilitySwitches } from '../sessions/capability-switches.ts'
import { unlessUnreadable } from '../store/skip-unreadable.ts'
import { openMessages } from '../turns/conversation/session-messages.ts'
import { type AgentsHost, agentTurn } from '../turns/agents/agent-turn.ts'
import { complete } from '../turns/single-completion.ts'
import type { TurnHost } from '../turns/ports.ts'
import { MessageWatcher } from '../turns/conversation/message-watcher.ts'
import { endOrphanTurn } from '../turns/end-orphan-turn.ts'
import { sessionUsage, usageRow } from '../turns/usage.ts'
import { shownMessage } from '../turns/conversation/mask-message.ts'
import { resumeTurn, startTurn } from '../turns/start-turn.ts'
import { turnDriver } from '../turns/turn-loop.ts'

interface TurnsHost extends BackgroundHost {
  readonly batches: Batches
  readonly records: RecordReader
  readonly feed: Feed
  readonly switches: CapabilitySwitches
  readonly poisonAfter: number
  readonly compaction: Compaction | null
  readonly deferFrom: number | null
  readonly models: Map<string, Model>
  readonly frames: ReadonlyMap<string, Frame>
}

export interface Turns extends SessionTurns {
  readonly driver: Driver
  close(): void
  /** Model functions for tool bodies. */
  readonly forBodies: Pick<CallHost, 'complete' | 'usageRows' | 'turn'>
}

/** The registered models and frames by name. */
export function readModels(options: { readonly models?: readonly Model[]; readonly frames?: readonly Frame[] }): {
  models: Map<string, Model>
  frames: ReadonlyMap<string, Frame>
} {
  const models = new Map<string, Model>()
  for (const model of options.models ?? []) models.set(model.name, model)
  const frames = new Map<string, Frame>()
  for (const frame of options.frames ?? []) {
    if (typeof frame.model === 'object') models.set(frame.model.name, frame.model)
    frames.set(frame.name, frame)
  }
  return { models, frames }
}

export function openTurns(host: TurnsHost): Turns {
  const { store, engine, clock, ids, logger, sizes, seal, redact, registry, batches, records, models, frames } = host
  const lookup = { model: (name: string) => models.get(name), frame: (name: string) => frames.get(name) }
  const parts = { store, engine, clock, ids, logger, sizes, ...lookup }
  const registerModel = (model: Model): void => void models.set(model.name, model)
  const startHost = { ...parts, seal, redact, registerModel }
  const start = (caller: Caller, turn: StartTurn, first?: () => Promise<void> | undefined): Turn =>
    startTurn(startHost, caller, turn, first)
  const messageWatcher = new MessageWatcher(store, clock)
  const turnHost: TurnHost = {
    ...parts,
    messageWatcher,
    poisonAfter: host.poisonAfter,
    observer: host.observer,
    compaction: host.compaction,
    deferFrom: host.deferFrom,
    inBackground: (of, uid) => isInBackground(store, of, uid),
    loadSecrets: (of) => learnSecrets(host, of),
    redact: (text) => redact.text(text),
    redactStream: () => redact.stream(),
    tools: (of) => registry.toolsetFor(of.tenant, of.session),
    switches: host.switches,
    start: (caller, calls, how) => batches.start(caller, calls, how),
    untilWaiting: (batch) => records.runUntil(() => batch, 'waiting'),
    renderCall: host.renderer.parts,
    async notices(of) {
      const listed = await openNotices(host, of).list()
      return Promise.all(
        listed.map(async ({ id, text, task, about }) => {
          // Only an encrypted task can be unreadable, so its notice is treated as secret.
          let isSealed = false
          const taskRow =
            task === null
              ? undefined
              : await unlessUnreadable(
                  () => readTask(host, of, task),
                  () => (isSealed = true),
                )
          // The payload of a trigger event is sealed, since it may be meant for a sensitive tool.
          const secret = about === 'trigger' || isSealed || (taskRow !== undefined && isSealedUid(taskRow.call))
          return { notice: id, text, rows: acknowledgeRows(of, id), ...(secret ? { secret } : {}) }
        }),
      )
    },
    noticeState: (of, uid) => movedCallNotice(host, of, uid),
    wakes: host.wakes,
    emitLive: (about, type, body) => host.feed.publish(about, type, body),
  }
  const endLate: AgentsHost['endLate'] = (of, agent) => endLateAgent(host, of, agent)
  const resume: AgentsHost['resume'] = (caller, turn) => resumeTurn(startHost, caller, turn)
  const agents: AgentsHost = { store, clock, switches: host.switches, start, resume, endLate }
  return {
    driver: {
      drive: turnDriver(turnHost),
      tools: () => [...models.keys()].map(turnTool),
      selects: ({ request }) => isTurn(request),
      onUnheard: (uid, why) => endOrphanTurn(turnHost, uid, why),
    },
    forBodies: {
      complete: (of, request, signal) => complete({ ...turnHost, models }, of, request, signal),
      usageRows: (of, key, model, usage) => [
        usageRow(of.request.position, `${of.request.uid}:${key}`, {
          models: chargeModel({}, model, usage),
          tool: calledName(of),
        }),
      ],
      turn: (of, session, request, signal) => agentTurn(agents, of, session, request, signal),
    },
    usage: (of) => sessionUsage(store, of),
    close: () => messageWatcher.close(),
    start,
    messages: (of) =>
      openMessages(
        {
          store,
          clock,
          ids,
          maxBytes: sizes.arguments,
          maxFileBytes: sizes.attachment,
          shown: (message) => redact.deep(shownMessage(message, registry.toolsetFor(of.tenant, of.session))),
          loadSecrets: (session) => learnSecrets(host, session),
          notify: (session) => messageWatcher.notify(session),
        },
        of,
      ),
  }
}

/** The name models use for the tool. */
const calledName = ({ request, options }: Execution): string => options.name ?? (request.tool.split('@')[0] as string)
