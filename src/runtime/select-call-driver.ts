// Selects the driver of each execution: calls, turns, and internal work that is recorded like calls. Used by
// runtime.ts.

import { endTool } from '../sessions/session-end.ts'
import type { Drive, Execution } from '../engine/engine.ts'
import { announceTool } from '../engine/local/waits/announce-tool-name.ts'
import { absentTool } from '../store/records/call-record.ts'
import { isTurn } from '../store/records/conversation.ts'

interface Drivers {
  readonly calls: Drive
  readonly turns: Drive
  /** Runs the follow-up work of an ended task or session. */
  readonly ends: Drive
  /** Delivers announcements of waits, if the host configured `announce`. */
  readonly announces: Drive | undefined
}

/** `internalTools`: recorded tool names of internal work that can be driven here. */
export function selectDriver({ calls, turns, ends, announces }: Drivers): {
  readonly drive: Drive
  readonly internalTools: readonly string[]
} {
  // A model may call a tool by an internal name; that call has `absent` set and is not internal work.
  const isInternal = ({ request, options }: Execution, named: string): boolean =>
    request.tool === named && !options.absent
  return {
    drive(execution) {
      if (announces && isInternal(execution, announceTool)) return announces(execution)
      if (isTurn(execution.request)) return turns(execution)
      return isInternal(execution, endTool) ? ends(execution) : calls(execution)
    },
    internalTools: announces ? [announceTool, absentTool, endTool] : [absentTool, endTool],
  }
}
