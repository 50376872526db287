// Turns wired: which models and frames there are, the drive of turns, and what a session asks of them.

import { endLateAgent } from '../sessions/session-end.ts'
import { noticeOfMoved, openNotices, rowsOfNotice } from '../tasks/notices.ts'
import { inBackground } from '../tasks/is-background.ts'
import { readTask } from '../tasks/read-task.ts'
import type { BackgroundHost } from '../tasks/ports.ts'
import type { CallHost } from '../calls/ports.ts'
import type { Drive } from '../engine/engine.ts'
import type { LiveEvent } from '../feed/feed.ts'
import type { Execution } from '../engine/engine.ts'
import { turnTool } from '../store/records/conversation.ts'
import { isSealedUid } from '../store/records/sealed-uid.ts'
import { PawlError } from '../core/errors.ts'
import type { Sizes } from '../core/size-limits.ts'
import { charged } from '../models/cost-ledger.ts'
import { checkModel, type Model } from '../models/model.ts'
import type { Frame, Messages, SessionUsage, StartTurn, Turn } from '../models/turn-interface.ts'
import type { Redactor } from '../security/redact.ts'
import type { Place } from '../sessions/call-record.ts'
import type { Batches } from '../sessions/batch.ts'
import type { Records } from '../sessions/record-reader.ts'
import type { CapabilitySwitches } from '../sessions/capabilities.ts'
import { unlessUnreadable } from '../store/read-or-report.ts'
import type { Toolset } from '../tools/toolset.ts'
import type { ShownCall } from './render-call.ts'
import { openMessages } from '../turns/conversation/session-messages.ts'
import { type AgentsHost, agentTurn } from '../turns/agents/agent-turn.ts'
import { complete } from '../turns/completion.ts'
import type { Scope, TurnHost } from '../turns/ports.ts'
import { MessageWatcher } from '../turns/conversation/message-watcher.ts'
import { endOrphan } from '../turns/end-orphan-turn.ts'
import { usageOf, usageRow } from '../turns/usage.ts'
import { termsOf } from '../turns/turn-request.ts'
import { shownMessage } from '../turns/conversation/message-view.ts'
import { sameTurn, startTurn } from '../turns/start-turn.ts'
import { turning } from '../turns/turn-loop.ts'

interface TurnsHost {
  readonly background: BackgroundHost
  readonly batches: Batches
  readonly records: Records
  readonly shown: ShownCall
  readonly sizes: Sizes
  readonly poisonAfter: number
  readonly sealAll: boolean
  readonly models: readonly Model[]
  readonly frames: readonly Frame[]
  readonly switches: CapabilitySwitches
  readonly searchFrom: number | null
  readonly redact: Redactor
  tools(of: Scope): Toolset
  live(about: Execution, type: LiveEvent['type'], body: object): void
}

export interface Turns {
  readonly drive: Drive
  /** What records call the turns that can be driven here. */
  readonly tools: readonly string[]
  start(place: Place, turn: StartTurn, first?: () => Promise<void> | undefined): Turn
  messages(of: Scope): Messages
  usage(of: Scope): Promise<SessionUsage>
  /** A call is to stop that no worker could be told of: if it is a turn, it is ended. */
  unheard(uid: string, why: { readonly reason: string; readonly by: string | null }): Promise<void>
  close(): void
  /** What bodies ask of models. */
  readonly inBodies: Pick<CallHost, 'complete' | 'usageRows' | 'turn'>
}

export function openTurns(host: TurnsHost): Turns {
  const { store, engine, clock, ids, logger } = host.background
  const { sizes, records, batches } = host
  const models = new Map<string, Model>()
  for (const model of host.models) {
    if (models.has(checkModel(model).name))
      throw new PawlError('config_invalid', `Two models have the name '${model.name}'.`)
    models.set(model.name, model)
  }
  const frames = new Map<string, Frame>()
  for (const frame of host.frames) {
    if (frames.has(termsOf(frame, '').name))
      throw new PawlError('config_invalid', `Two frames have the name '${frame.name}'.`)
    if (typeof frame.model === 'object') models.set(checkModel(frame.model).name, frame.model)
    frames.set(frame.name, frame)
  }
  const known = { model: (name: string) => models.get(name), frame: (name: string) => frames.get(name) }
  const parts = { store, engine, clock, ids, logger, sizes, ...known }
  const knows = (model: Model): void => void models.set(model.name, model)
  const starting = { ...parts, sealAll: host.sealAll, words: host.background.words, knows }
  const start: Turns['start'] = (place, turn, first) => startTurn(starting, place, turn, first)
  const said = new MessageWatcher(store, clock)
  const { learn } = host.background
  const around: TurnHost = {
    ...parts,
    said,
    poisonAfter: host.poisonAfter,
    searchFrom: host.searchFrom,
    inBackground: (of, uid) => inBackground(store, of, uid),
    learn,
    clean: (text) => host.redact.text(text),
    pieces: () => host.redact.stream(),
    tools: (of) => host.tools(of),
    switches: host.switches,
    start: (place, calls, how) => batches.start(place, calls, how),
    waiting: (batch) => records.until(() => batch, 'waiting'),
    shown: host.shown.parts,
    async notices(of) {
      const listed = await openNotices(host.background, of).list()
      return Promise.all(
        listed.map(async ({ id, text, task, about }) => {
          // What cannot be opened is sealed. It has told this before.
          let isSealed = false
          const told =
            task === null
              ? undefined
              : await unlessUnreadable(
                  () => readTask(host.background, of, task),
                  () => (isSealed = true),
                )
          // What an event carried is sealed, as it may be for a sensitive tool.
          const secret = about === 'trigger' || isSealed || (told !== undefined && isSealedUid(told.call))
          return { notice: id, text, rows: rowsOfNotice(of, id), ...(secret ? { secret } : {}) }
        }),
      )
    },
    noticeOf: (of, uid) => noticeOfMoved(host.background, of, uid),
    wakes: host.background.wakes,
    live: (about, type, body) => host.live(about, type, body),
  }
  const endLate: AgentsHost['endLate'] = (of, agent) => endLateAgent(host.background, of, agent)
  const again: AgentsHost['again'] = (place, turn) => sameTurn(starting, place, turn)
  const agents: AgentsHost = { store, clock, switches: host.switches, start, again, endLate }
  return {
    drive: turning(around),
    inBodies: {
      complete: (of, request, signal) => complete({ ...around, models }, of, request, signal),
      usageRows: (of, key, model, usage) => [
        usageRow(of.request.position, `${of.request.uid}:${key}`, {
          models: charged({}, model, usage),
          tool: toolNamed(of),
        }),
      ],
      turn: (of, session, request, signal) => agentTurn(agents, of, session, request, signal),
    },
    usage: (of) => usageOf(store, of),
    unheard: (uid, why) => endOrphan(around, uid, why),
    close: () => said.close(),
    get tools() {
      return [...models.keys()].map(turnTool)
    },
    start,
    messages: (of) =>
      openMessages(
        {
          store,
          clock,
          ids,
          mostBytes: sizes.arguments,
          mostOfFile: sizes.attachment,
          shown: (message) => host.redact.deep(shownMessage(message, host.tools(of))),
          learn,
          said: (whose) => said.said(whose),
        },
        of,
      ),
  }
}

/** As a model calls it. */
const toolNamed = ({ request, options }: Execution): string => options.name ?? (request.tool.split('@')[0] as string)
