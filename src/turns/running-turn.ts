// The state of a running turn, which the stages of turn-loop.ts read and change. The last recorded message determines
// the next stage.

import type { Execution } from '../engine/engine.ts'
import type { HeadRow } from '../store/records/conversation.ts'
import type { Outcome } from '../core/outcome.ts'
import { decode, defined, type Json } from '../core/tool-value.ts'
import { type UsageByModel, chargeModel, totalUsage } from '../models/cost-ledger.ts'
import type { CapabilityLimits } from '../sessions/define-capability.ts'
import { type Message, textIn } from '../models/message.ts'
import { type Model, ModelFailure, type ToolChoice } from '../models/model.ts'
import type { TurnUsage, TurnValue } from '../models/turn-interface.ts'
import type { DocumentWrite } from '../store/store.ts'
import { frameNameOf, type History, type MessageRecord } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { compactionFailed, modelFailed, noSuchFrame } from './turn-failures.ts'
import { type FrameTerms, resolveModel, strictestLimits, frameTerms, type TurnRequest } from './turn-request.ts'
import type { OwedResult } from './run-calls.ts'
import { isSensitiveMessage, shownMessage } from './conversation/mask-message.ts'
import { CompactionFailure } from './conversation/run-compaction.ts'
import { TurnToolset } from './turn-tools.ts'
import { costLimitOutcome, usageRow } from './usage.ts'
import type { TurnStop } from './turn-stop.ts'

interface TurnStart {
  readonly stop: TurnStop
  readonly history: History
  readonly head: HeadRow
  /** An earlier execution of this turn held the session. */
  readonly resumed: boolean
}

export class TurnRun {
  readonly execution: Execution
  readonly host: TurnHost
  readonly stop: TurnStop
  readonly history: History
  readonly request: TurnRequest
  readonly tools: TurnToolset
  /** A lost execution may have streamed deltas of the next answer, which are then retracted. */
  mayRetract: boolean
  #frame: FrameTerms
  #account: UsageByModel = {}

  constructor(execution: Execution, host: TurnHost, { stop, history, head, resumed }: TurnStart) {
    this.execution = execution
    this.host = host
    this.stop = stop
    this.history = history
    this.mayRetract = resumed
    this.request = decode(execution.request.input) as unknown as TurnRequest
    this.#frame = this.request.frame
    this.tools = new TurnToolset(host, execution.request.position, new Set(head.on))
    history.shown = (message) => shownMessage(message, this.tools.set)
  }

  get id(): string {
    return this.execution.request.position.id
  }

  /** True if the message of the turn is recorded. Each notice before it is a commit of its own, so a crash may follow. */
  get hasBegun(): boolean {
    return this.history.ofTurn(this.id).some(({ opensTurn, step, upTo }) => opensTurn || step > 0 || upTo !== undefined)
  }

  get last(): MessageRecord | undefined {
    return this.history.lastOf(this.id)
  }

  /** Number of answers so far. */
  get step(): number {
    return this.last?.step ?? 0
  }

  get frame(): FrameTerms {
    return this.#frame
  }

  /** What the turn allows or requires for the next answer. A required call is required once. */
  get toolChoice(): ToolChoice {
    const { toolChoice = 'auto' } = this.request
    if (this.step > 0 && toolChoice !== 'none') return 'auto'
    if (typeof toolChoice === 'string') return toolChoice
    const { set } = this.tools.forFrame(this.#frame.tools)
    return { tool: set.get(toolChoice.tool)?.name ?? toolChoice.tool } // it may be given by its id
  }

  get model(): Model {
    return resolveModel(this.#frame.model, this.host)
  }

  get instructions(): string | null {
    return this.host.switches.all.instructions(this.tools.capabilities, this.#frame.instructions)
  }

  get limits(): CapabilityLimits {
    return strictestLimits(this.request, this.host.switches.all.limits(this.tools.capabilities))
  }

  /** The failure of a turn that has reached its cost limit. */
  get overCost(): Outcome | null {
    return costLimitOutcome(this.#account, this.limits.cost, this.model)
  }

  /** Consecutive answers whose calls were all invalid. */
  get consecutiveInvalid(): number {
    return this.history.lastOf(this.id, 'tool')?.invalid ?? 0
  }

  /** How many answers did not match the requested output. */
  get invalidOutputs(): number {
    return this.history.ofTurn(this.id).findLast((each) => each.invalidOutput !== undefined)?.invalidOutput ?? 0
  }

  /** True if the model has the tool that reads the rest of a truncated result. */
  get canReadOutput(): boolean {
    return this.tools.canReadOutput(this.#frame.tools)
  }

  /** Restores usage and frame of an earlier execution from its messages; returns a failure if the frame is gone. */
  restore(): Outcome | null {
    const records = this.history.ofTurn(this.id)
    this.#account = records.findLast(({ account }) => account)?.account ?? this.#account
    const last = records.findLast((record) => frameNameOf(record) !== undefined)
    const frame = last && frameNameOf(last)
    return frame === undefined ? null : this.switchFrame(frame, last?.frameModel)
  }

  /** Switches the frame; returns a failure if it does not exist. */
  switchFrame(name: string, currentModel = this.#frame.model): Outcome | null {
    const frame = this.host.frames.get(name)
    if (!frame) return noSuchFrame(name)
    const model = frame.model === undefined ? currentModel : resolveModel(frame.model, this.host).name
    this.#frame = frameTerms(frame, model)
    return null
  }

  /** Adds the usage of a model to the turn. */
  charge(model: string, usage: TurnUsage): void {
    this.#account = chargeModel(this.#account, model, usage)
  }

  /** Builds the next message and charges its usage. The caller writes it and adds it to the history. */
  nextMessage(message: Message, more: Partial<MessageRecord>): ReturnType<History['next']> {
    const { usage, model } = more
    if (usage && model !== undefined) this.charge(model, usage)
    const frame = this.#frame === this.request.frame ? {} : { frame: this.#frame.name, frameModel: this.#frame.model }
    const fields = {
      at: this.host.clock.now(),
      turn: this.id,
      step: this.step,
      account: this.#account,
      ...frame,
      ...more,
      message,
    }
    const secret = more.secret ?? isSensitiveMessage(message, this.tools.set, this.history)
    return this.history.next(this.execution.request.position, fields, secret)
  }

  /** Appends a message; it is written with the next commit. */
  append(message: Message, rows: readonly DocumentWrite[] = [], more: Partial<MessageRecord> = {}): void {
    const { record, row } = this.nextMessage(message, more)
    this.execution.attached.writeDocuments(row, ...rows)
    const { number, unheard } = record
    const event = { message: number, role: message.role, turn: this.id, ...(unheard === undefined ? {} : { unheard }) }
    this.execution.attached.appendEvent('message.added', event)
    this.history.add(record)
  }

  /** Records results to be delivered later, under the call ids the model knows. */
  recordOwed(owed: readonly OwedResult[]): void {
    const shown = this.history.forModel().at(-1)
    for (const [order, row] of owed)
      this.execution.attached.writeDocuments(row(shown?.role === 'tool' ? shown.results[order]?.callId : undefined))
  }

  /** Writes the turn's usage to its session with the end of the turn, whatever the outcome. */
  recordUsage(): void {
    const { position, uid } = this.execution.request
    if (Object.keys(this.#account).length > 0)
      this.execution.attached.writeDocuments(usageRow(position, uid, { models: this.#account, tool: null }))
  }

  /** `output`: the last answer in the form that the turn requested. */
  success(end: TurnValue['end'], value: Json, output?: Json): Outcome {
    const answer = this.history.lastOf(this.id, 'assistant')
    const text = answer?.message.role === 'assistant' ? textIn(answer.message.parts) : ''
    const { times: _, ...usage } = totalUsage(this.#account)
    const finish = answer?.finish ?? 'other'
    const turnValue: Omit<TurnValue, 'output'> = { end, text, value, steps: this.step, usage, finish }
    return { status: 'success', value: { ...turnValue, ...defined({ output }) } as unknown as Json }
  }

  /** The outcome if the model or the compaction function failed; other errors are rethrown. */
  modelFailure({ name }: Model, error: unknown): Outcome {
    if (error instanceof CompactionFailure) {
      this.host.logger.error('The compaction function failed', { turn: this.id, error })
      return compactionFailed(error)
    }
    if (!(error instanceof ModelFailure) || this.stop.signal.aborted) throw error
    this.host.logger.error('A model request failed', { model: name, turn: this.id, error })
    return modelFailed(name, error)
  }
}
