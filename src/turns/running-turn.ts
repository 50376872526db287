// The state of a running turn. Each method performs one stage of turn-loop.ts; what to do next follows from the last
// recorded message.

import type { Execution } from '../engine/engine.ts'
import { type HeadRow, isWoken } from '../store/records/conversation.ts'
import type { Control, Outcome } from '../core/outcome.ts'
import { decode, type Json } from '../core/tool-value.ts'
import { type UsageByModel, chargeModel, totalUsage } from '../models/cost-ledger.ts'
import type { CapabilityLimits } from '../sessions/define-capability.ts'
import { type AssistantMessage, callsIn, type Message, textIn } from '../models/message.ts'
import { costOf, type Model, ModelFailure } from '../models/model.ts'
import type { TurnValue } from '../models/turn-interface.ts'
import type { Change } from '../store/store.ts'
import { arrivals, hasNewUserMessage } from './conversation/arrived-messages.ts'
import { askModel } from './ask-model.ts'
import { mayHaveAsked } from './model-may-have-been-asked.ts'
import { historyLimit, compact } from './conversation/compaction.ts'
import { type History, type MessageRecord, tokensIn } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { noSuchFrame, modelFailed, nothingToAnswer, tooManyAnswers, tooManyInvalidCalls } from './turn-failures.ts'
import { type FrameTerms, resolveModel, strictestLimits, frameTerms, type TurnRequest } from './turn-request.ts'
import { repairResults } from './conversation/repair-missing-results.ts'
import { type OwedResult, runCalls } from './run-calls.ts'
import { isSensitiveMessage } from './conversation/sensitive-message.ts'
import { shownMessage } from './conversation/mask-message.ts'
import { TurnToolset, toolTokens } from './turn-tools.ts'
import { costLimitOutcome, usageRow } from './usage.ts'
import { deliverNotice } from './conversation/deliver-notice.ts'
import type { TurnStop } from './turn-stop.ts'
import { openingMessages, userMessageParts } from './conversation/user-message.ts'

type Documents = NonNullable<Change['documents']>
type TurnEnd = Promise<Outcome | null>

interface TurnStart {
  readonly stop: TurnStop
  readonly history: History
  readonly head: HeadRow
  /** An earlier execution of this turn held the session. */
  readonly resumed: boolean
}

export class TurnRun {
  readonly #execution: Execution
  readonly #host: TurnHost
  readonly #stop: TurnStop
  readonly #history: History
  readonly #request: TurnRequest
  #frame: FrameTerms
  readonly #tools: TurnToolset
  #account: UsageByModel = {}
  /** A lost execution may have streamed deltas of the next answer, which are then retracted. */
  #mayRetract: boolean

  constructor(execution: Execution, host: TurnHost, { stop, history, head, resumed }: TurnStart) {
    this.#execution = execution
    this.#host = host
    this.#stop = stop
    this.#history = history
    this.#mayRetract = resumed
    this.#request = decode(execution.request.input) as unknown as TurnRequest
    this.#frame = this.#request.frame
    this.#tools = new TurnToolset(host, execution.request.position, new Set(head.on))
    history.shown = (message) => shownMessage(message, this.#tools.set)
  }

  get #id(): string {
    return this.#execution.request.position.id
  }

  get #last(): MessageRecord | undefined {
    return this.#history.lastOf(this.#id)
  }

  /** Returns a failure if the turn's frame no longer exists. */
  async begin(): TurnEnd {
    const { position } = this.#execution.request
    await this.#host.loadSecrets(position)
    // Loading has a short timeout, and a failed provider connection is logged there.
    await Promise.allSettled(
      this.#tools.set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])),
    )
    this.#mayRetract &&= await mayHaveAsked(this.#host, position, this.#last)
    const failed = this.#restore(this.#history.ofTurn(this.#id))
    if (failed || this.#last) return failed
    await this.#repairPreviousTurn()
    const { message } = this.#request
    await this.#appendArrivals(true)
    if (message !== null) this.#append({ role: 'user', parts: userMessageParts(message, this.#execution, this.#host) })
    return null
  }

  /** Adds recorded results for calls of a previous turn that ended before reading them. */
  async #repairPreviousTurn(): Promise<void> {
    const last = this.#history.last
    if (last?.message.role !== 'assistant' || callsIn(last.message).length === 0) return
    const { results, owed } = await repairResults(
      this.#host,
      this.#execution.request.position,
      last,
      this.#tools.canReadOutput(this.#frame.tools),
    )
    this.#append({ role: 'tool', results })
    this.#recordOwed(owed)
  }

  /** Records results to be delivered later, under the call ids the model knows. */
  #recordOwed(owed: readonly OwedResult[]): void {
    const shown = this.#history.forModel().at(-1)
    for (const [order, row] of owed)
      this.#execution.attached.writeDocuments(row(shown?.role === 'tool' ? shown.results[order]?.callId : undefined))
  }

  /** Restores usage and frame of an earlier execution from its messages. */
  #restore(records: readonly MessageRecord[]): Outcome | null {
    this.#account = records.findLast(({ account }) => account)?.account ?? this.#account
    const last = records.findLast(({ frame, message }) => frame !== undefined || message.role === 'frame')
    const frame = last?.message.role === 'frame' ? last.message.frame : last?.frame
    return frame === undefined ? null : this.#switchFrame({ frame }, last?.frameModel)
  }

  async runCalls(): TurnEnd {
    const last = this.#last
    if (last?.message.role === 'tool' && last.control !== undefined) return this.#applyControl(last.control as Control)
    const calls = last?.message.role === 'assistant' ? callsIn(last.message) : []
    if (!last || calls.length === 0) return null
    const result = await runCalls(this.#host, this.#execution, {
      step: last.step,
      calls,
      tools: this.#tools.forFrame(this.#frame.tools).set,
      within: this.#tools.restrictedTo(this.#frame.tools),
      parallel: this.#frame.parallel,
      frame: this.#frame.name,
      backgroundMs: this.#request.backgroundMs,
      signal: this.#stop.calls,
    })
    if (result.unheard.length > 0)
      this.#host.logger.warn('Several calls returned a control result; only the first was applied', {
        turn: this.#id,
        others: result.unheard,
      })
    this.#append(
      { role: 'tool', results: result.results },
      this.#tools.reveal(this.#frame.tools, result.invalidArguments),
      {
        ...(result.unheard.length > 0 ? { unheard: result.unheard } : {}),
        ...(result.control ? { control: result.control } : {}),
        ...(result.invalid ? { invalid: this.#consecutiveInvalid + 1 } : {}),
      },
    )
    this.#recordOwed(result.owed)
    if (this.#stop.outcome) return this.#stop.outcome
    if (result.control) return this.#applyControl(result.control)
    return this.#consecutiveInvalid < this.#limits.invalid ? null : tooManyInvalidCalls(this.#consecutiveInvalid)
  }

  /** Consecutive answers whose calls were all invalid. */
  get #consecutiveInvalid(): number {
    return this.#history.lastOf(this.#id, 'tool')?.invalid ?? 0
  }

  #applyControl(control: Control): Outcome | null {
    if ('finish' in control) return this.#success('finish', control.finish)
    if ('fail' in control) return { status: 'failure', failure: control.fail }
    const last = this.#history.last
    // The control was applied if the next frame has started.
    if (last?.message.role !== 'tool') return null
    const failed = this.#switchFrame(control.switchFrame)
    if (failed) return failed
    const opening = openingMessages(control.switchFrame, this.#history)
    this.#append({ role: 'frame', frame: control.switchFrame.frame })
    for (const { message, secret } of opening) this.#append(message, [], secret ? { secret } : {})
    return null
  }

  /** Switches the frame; returns a failure if it does not exist. */
  #switchFrame({ frame: name }: { readonly frame: string }, currentModel = this.#frame.model): Outcome | null {
    const frame = this.#host.frame(name)
    if (!frame) return noSuchFrame(name)
    const model = frame.model === undefined ? currentModel : resolveModel(frame.model, this.#host).name
    this.#frame = frameTerms(frame, model)
    return null
  }

  /** The outcome if the last answer is final; null if the turn continues. */
  async isAnswered(): TurnEnd {
    const last = this.#last
    if (last?.message.role !== 'assistant' || callsIn(last.message).length > 0) return null
    // At a limit, a message that arrived with the last answer is left to the next turn.
    const mayContinue = this.#step < this.#limits.steps && !this.#overCost
    if (mayContinue && (await hasNewUserMessage(this.#host, this.#execution.request.position))) return null
    return this.#success('answer', null)
  }

  async receive(): TurnEnd {
    if (this.#step >= this.#limits.steps) return tooManyAnswers(this.#step)
    if (this.#overCost) return this.#overCost
    // begin() has already appended them for the first answer.
    if (this.#step > 0) await this.#appendArrivals(false)
    // Without new input after its last answer the model has nothing to answer. Checked before paying for a summary.
    if ((this.#history.forModel().at(-1)?.role ?? 'assistant') === 'assistant')
      // Another turn has read the input this one was woken for.
      return isWoken(this.#id) ? this.#success('answer', null) : nothingToAnswer()
    const model = this.#model
    const { historyTokens } = this.#limits
    const otherTokens = tokensIn(this.#instructions ?? '') + toolTokens(this.#tools.forFrame(this.#frame.tools))
    try {
      await this.#compact(model, {
        limit: historyTokens === Infinity ? historyLimit(model, otherTokens) : historyTokens,
      })
      return null
    } catch (error) {
      return this.#modelFailure(model, error)
    }
  }

  /** Returns true if messages were summarized. */
  #compact(
    model: Model,
    options: { limit: number; keep?: number; whole?: true },
    more: Pick<MessageRecord, 'tooLong'> = {},
  ): Promise<boolean> {
    return compact(this.#host, this.#execution, this.#history, {
      model,
      ...options,
      signal: this.#stop.signal,
      next: (message, upTo, usage) => this.#nextMessage(message, { upTo, usage, model: model.name, ...more }),
      add: (record) => this.#history.add(record),
    })
  }

  /** The outcome if the model failed; other errors are rethrown. */
  #modelFailure({ name }: Model, error: unknown): Outcome {
    if (!(error instanceof ModelFailure) || this.#stop.signal.aborted) throw error
    this.#host.logger.error('A model request failed', { model: name, turn: this.#id, error })
    return modelFailed(name, error)
  }

  async ask(): TurnEnd {
    const model = this.#model
    for (;;) {
      // The summary may have used up the cost limit.
      if (this.#overCost) return this.#overCost
      try {
        await this.#recordAnswer(model)
        return null
      } catch (error) {
        const remaining = await this.#compactAfterOverflow(model, error)
        if (remaining !== null) return this.#modelFailure(model, remaining)
      }
    }
  }

  /** Requests one answer and records it with its message in one step. */
  async #recordAnswer(model: Model): Promise<void> {
    const step = this.#step + 1
    const { settings, parallel } = this.#frame
    const request = {
      instructions: this.#instructions,
      settings,
      parallel,
      messages: this.#history.forModel(),
      tools: await this.#tools.forModel(this.#frame.tools),
    }
    const mayRetract = this.#mayRetract
    this.#mayRetract = false
    let added: MessageRecord | null = null
    await this.#execution.runStep({ key: `model:${step}`, input: null, once: false }, async () => {
      const answer = await askModel(this.#host, this.#execution, model, {
        request,
        step,
        signal: this.#stop.signal,
        mayRetract,
      })
      const usage = { ...answer.usage, cost: costOf(answer.usage, model.price) }
      const message: AssistantMessage = { role: 'assistant', parts: answer.parts }
      const { record, row } = this.#nextMessage(message, { step, usage, model: model.name, finish: answer.finish })
      added = record
      const { finish, usage: tokens } = answer
      const events = [
        {
          type: 'turn.answered' as const,
          body: { turn: this.#id, step, message: record.number, finish, usage: tokens },
        },
      ]
      return { done: String(record.number), attached: { documents: [row], events } }
    })
    if (added) this.#history.add(added)
  }

  /**
   * After a "too long" failure of the model: summarizes half of the conversation, the second time everything but the
   * last message. Attempts are recorded with the summary, so each is made once per answer. Returns null if the model
   * can be asked again, else the error.
   */
  async #compactAfterOverflow(model: Model, error: unknown): Promise<unknown> {
    if (!(error instanceof ModelFailure) || !error.tooLong) return error
    const { turn, step, tooLong = 0 } = this.#history.summaryRecord ?? {}
    const priorTries = turn === this.#id && step === this.#step ? tooLong : 0
    if (priorTries >= 2) return error
    const limit = Math.floor(this.#history.tokens / 2)
    try {
      const isShorter = await this.#compact(
        model,
        { limit, keep: priorTries === 0 ? limit : 0, whole: true },
        { tooLong: priorTries + 1 },
      )
      return isShorter ? null : error
    } catch (compactError) {
      return compactError
    }
  }

  /** Writes the turn's usage to its session with the end of the turn, whatever the outcome. */
  recordUsage(): void {
    const { position, uid } = this.#execution.request
    if (Object.keys(this.#account).length > 0)
      this.#execution.attached.writeDocuments(usageRow(position, uid, { models: this.#account, tool: null }))
  }

  get #limits(): CapabilityLimits {
    return strictestLimits(this.#request, this.#host.switches.all.limits(this.#tools.capabilities))
  }

  get #overCost(): Outcome | null {
    return costLimitOutcome(this.#account, this.#limits.cost, this.#model)
  }

  get #instructions(): string | null {
    return this.#host.switches.all.instructions(this.#tools.capabilities, this.#frame.instructions)
  }

  get #step(): number {
    return this.#last?.step ?? 0
  }

  get #model(): Model {
    return resolveModel(this.#frame.model, this.#host)
  }

  /** Appends pending input to the conversation. */
  async #appendArrivals(isFirst: boolean): Promise<void> {
    const arrived = await arrivals(this.#host, this.#execution, {
      isFirst,
      canReadOutput: this.#tools.canReadOutput(this.#frame.tools),
    })
    for (const each of arrived) {
      const more = each.secret ? { secret: each.secret } : {}
      if (each.notice === undefined) this.#append(each.message, each.rows, more)
      else
        await deliverNotice(this.#host, this.#execution, each, this.#history, () =>
          this.#nextMessage(each.message, more),
        )
    }
  }

  #nextMessage(message: Message, more: Partial<MessageRecord>): ReturnType<History['next']> {
    const { position } = this.#execution.request
    const { usage, model } = more
    if (usage && model !== undefined) this.#account = chargeModel(this.#account, model, usage)
    const frame = this.#frame === this.#request.frame ? {} : { frame: this.#frame.name, frameModel: this.#frame.model }
    const fields = {
      at: this.#host.clock.now(),
      turn: this.#id,
      step: this.#step,
      account: this.#account,
      ...frame,
      ...more,
      message,
    }
    return this.#history.next(
      position,
      fields,
      more.secret ?? isSensitiveMessage(message, this.#tools.set, this.#history),
    )
  }

  /** Appends a message; it is written with the next commit. */
  #append(message: Message, rows: Documents = [], more: Partial<MessageRecord> = {}): void {
    const { record, row } = this.#nextMessage(message, more)
    this.#execution.attached.writeDocuments(row, ...rows)
    const { number, unheard } = record
    const event = { message: number, role: message.role, turn: this.#id, ...(unheard === undefined ? {} : { unheard }) }
    this.#execution.attached.appendEvent('message.added', event)
    this.#history.add(record)
  }

  #success(end: TurnValue['end'], value: Json): Outcome {
    const answer = this.#history.lastOf(this.#id, 'assistant')
    const text = answer?.message.role === 'assistant' ? textIn(answer.message.parts) : ''
    const { times: _, ...usage } = totalUsage(this.#account)
    const turnValue: TurnValue = { end, text, value, steps: this.#step, usage, finish: answer?.finish ?? 'other' }
    return { status: 'success', value: turnValue as unknown as Json }
  }
}
