// Who drives what the engine hands over: calls, turns, and the chores that are on record like calls.

import { endTool } from '../sessions/session-end.ts'
import type { Drive, Execution } from '../engine/engine.ts'
import { announceTool } from '../engine/local/waits/announce-tool.ts'
import { absentTool } from '../store/records/call-record.ts'
import { isTurn } from '../store/records/conversation.ts'

interface Drivers {
  readonly calls: Drive
  readonly turns: Drive
  /** What follows the end of a task or a session. */
  readonly ends: Drive
  /** Tells the outside of waits, if the host wants that. */
  readonly announces: Drive | undefined
}

/** `own`: what can be driven besides tools and turns, as records call it. */
export function driving({ calls, turns, ends, announces }: Drivers): {
  readonly drive: Drive
  readonly own: readonly string[]
} {
  // A model that says this word means a tool of that name, and there is none.
  const isChore = ({ request, options }: Execution, named: string): boolean => request.tool === named && !options.absent
  return {
    drive(execution) {
      if (announces && isChore(execution, announceTool)) return announces(execution)
      if (isTurn(execution.request)) return turns(execution)
      return isChore(execution, endTool) ? ends(execution) : calls(execution)
    },
    own: announces ? [announceTool, absentTool, endTool] : [absentTool, endTool],
  }
}
