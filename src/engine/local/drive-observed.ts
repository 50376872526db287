// Drives an execution in the trace of its call, and reports its start to the observers. Called by the local engine.

import type { Driven } from '../engine.ts'
import { observeStarted } from '../observed-call.ts'
import { runTraced } from '../trace-scope.ts'
import type { EngineState } from './engine-state.ts'
import type { LocalExecution } from './local-execution.ts'

export function driveObserved({ observers, drivers, clock }: EngineState, execution: LocalExecution): Promise<Driven> {
  if (observers.current) observeStarted(observers.current, execution, clock.now())
  return runTraced(observers, execution, () => drivers.drive(execution))
}
