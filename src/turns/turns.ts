// Turns of a runtime: the registered models and frames, the driver of turns, and the functions that sessions and tool
// bodies call.

import type { CallHost } from '../calls/ports.ts'
import type { Driver, Execution } from '../engine/engine.ts'
import { chargeModel } from '../models/cost-ledger.ts'
import type { Model } from '../models/model.ts'
import type { Frame } from '../models/turn-interface.ts'
import type { SessionTurns } from '../sessions/session.ts'
import { isTurn, turnTool } from '../store/records/conversation.ts'
import { agentTurn } from './agents/agent-turn.ts'
import { MessageWatcher } from './conversation/message-watcher.ts'
import { openMessages } from './conversation/session-messages.ts'
import { endOrphanTurn } from './end-orphan-turn.ts'
import { openTurnHandles } from './find-turns.ts'
import type { TurnHost } from './ports.ts'
import { complete } from './single-completion.ts'
import { startTurn } from './start-turn.ts'
import { checkToolNames } from './turn-tools.ts'
import { turnDriver } from './turn-loop.ts'
import { sessionUsage, usageRow } from './usage.ts'

export interface Turns extends SessionTurns {
  readonly driver: Driver
  close(): void
  /** Model functions for tool bodies. */
  readonly forBodies: Pick<CallHost, 'complete' | 'usageRows' | 'turn'>
}

/** The registered models and frames by name. */
export function readModels(options: {
  readonly models?: readonly Model[]
  readonly frames?: readonly Frame[]
}): Pick<TurnHost, 'models' | 'frames'> {
  const models = new Map<string, Model>()
  for (const model of options.models ?? []) models.set(model.name, model)
  const frames = new Map<string, Frame>()
  for (const frame of options.frames ?? []) {
    if (typeof frame.model === 'object') models.set(frame.model.name, frame.model)
    frames.set(frame.name, frame)
  }
  return { models, frames }
}

export function openTurns(parts: Omit<TurnHost, 'messageWatcher'>): Turns {
  const { store, clock, models } = parts
  const host: TurnHost = { ...parts, messageWatcher: new MessageWatcher(store, clock) }
  return {
    driver: {
      drive: turnDriver(host),
      tools: () => [...models.keys()].map(turnTool),
      selects: ({ request }) => isTurn(request),
      onUnheard: (uid, why) => endOrphanTurn(host, uid, why),
    },
    forBodies: {
      complete: (of, request, signal) => complete(host, of, request, signal),
      usageRows: (of, key, model, usage) => [
        usageRow(of.request.position, `${of.request.uid}:${key}`, {
          models: chargeModel({}, model, usage),
          tool: calledName(of),
        }),
      ],
      turn: (of, session, request, signal) => agentTurn(host, of, session, request, signal),
    },
    start: (caller, turn, first) => startTurn(host, caller, checkToolNames(host, caller, turn), first),
    messages: (of) => openMessages(host, of),
    handles: (of) => openTurnHandles(host, of),
    usage: (of) => sessionUsage(store, of),
    close: () => host.messageWatcher.close(),
  }
}

/** The name models use for the tool. */
const calledName = ({ request, options }: Execution): string => options.name ?? (request.tool.split('@')[0] as string)
