// The state of one execution in the pipeline. Stages store here what later stages need; reading it before its stage has
// run is an error.

import type { Execution, ToSettle } from '../engine/engine.ts'
import type { Tool } from '../tools/tool.ts'
import type { ValidatedInput } from './admission/read-arguments.ts'
import type { CallHost } from './ports.ts'
import type { StageContext } from './run-host-callback.ts'
import type { Slot } from './scheduling/slot.ts'

export class CallRun implements StageContext {
  readonly execution: Execution
  readonly host: CallHost
  /** The end of a poisoned or interrupted call. Not final: a person may be asked about an unknown outcome. */
  verdict: ToSettle | null = null
  /** A note for the model about what people changed. */
  note: string | undefined = undefined
  slot: Slot | null = null
  /** An attempt was abandoned, so it may still be running when the call ends. */
  abandoned = false
  /** An abandoned attempt may still be running, or, until the next attempt has ended, one of a dead worker. */
  mayStillRun: boolean
  /** Time in the body without its waits; only counted if there are budgets. Lost if the execution is interrupted. */
  bodyMs = 0
  /** Cost that the tool declared in all attempts so far. */
  cost: number
  #tool: Tool | null = null
  #input: ValidatedInput | null = null
  #attemptInput: ValidatedInput | null = null

  constructor(execution: Execution, host: CallHost) {
    this.execution = execution
    this.host = host
    this.mayStillRun = execution.interrupted !== null
    this.cost = (execution.claimed ? execution.terms?.cost : undefined) ?? 0
  }

  /** The tool as this call runs it: for a task, its background variant. */
  get tool(): Tool {
    return this.#tool ?? missing('tool')
  }
  set tool(tool: Tool) {
    this.#tool = tool
  }

  /** The validated arguments; after authorization, including edits by people. */
  get input(): ValidatedInput {
    return this.#input ?? missing('input')
  }
  set input(input: ValidatedInput) {
    this.#input = input
  }

  /** The copy of the input that the next attempt may modify. The first attempt gets the original. */
  get attemptInput(): ValidatedInput {
    return this.#attemptInput ?? this.input
  }
  set attemptInput(input: ValidatedInput) {
    this.#attemptInput = input
  }

  /** Capped, because Infinity has no recorded form. */
  addCost(amount: number): void {
    this.cost = Math.min(this.cost + amount, Number.MAX_VALUE)
  }
}

function missing(what: string): never {
  throw new Error(`The pipeline read \`${what}\` before the stage that sets it.`)
}
