// The step that records the worker deaths of a call, and whether code of the call runs (engine/local/leases).

import type { StepRecord } from './call-record.ts'

export interface Deaths {
  /** Worker deaths while code of the call ran, since it last made progress. */
  readonly all: number
  /** Those that count against the call. */
  readonly counted: number
  /** How long the code had run when the last of these workers was found dead. */
  readonly ranMs: number
}

export const noDeaths: Deaths = { all: 0, counted: 0, ranMs: 0 }

export interface DeathMark extends Deaths {
  /** Fence of the worker that runs code of the call; null if it only waits. */
  readonly fence: number | null
  /** The call runs on trial: how long its worker had been up before. Null if not on trial. */
  readonly uptimeMs: number | null
  /** The body waits for a task. */
  readonly waitsForTask?: true
}

export const parseDeathMark = ({ value }: StepRecord): DeathMark => JSON.parse(value as string) as DeathMark
