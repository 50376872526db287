// A turn on its way: what it does next follows from the last thing that is on record of it.

import type { Execution } from '../engine/engine.ts'
import { type HeadRow, isWoken } from '../store/records/conversation.ts'
import type { Control, Outcome } from '../core/outcome.ts'
import { decode, type Json } from '../core/value.ts'
import { type Account, charged, sumOf } from '../models/cost-ledger.ts'
import type { CapabilityLimits } from '../sessions/capability.ts'
import { type AssistantMessage, callsIn, type Message, textIn } from '../models/message.ts'
import { costOf, type Model, ModelFailure } from '../models/model.ts'
import type { TurnValue } from '../models/turn-interface.ts'
import type { Change } from '../store/store.ts'
import { arrivals, isSaid } from './conversation/arrivals.ts'
import { askModel } from './ask-model.ts'
import { mayHaveAsked } from './may-have-asked.ts'
import { limitFor, sumUp } from './conversation/compaction.ts'
import { type History, type KeptMessage, tokensIn } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { noSuchFrame, notAnswered, nothingSaid, tooManyAnswers, tooManyInvalid } from './turn-failures.ts'
import { type FrameTerms, modelOf, strictest, termsOf, type TurnRequest } from './turn-request.ts'
import { mended } from './conversation/repair-results.ts'
import { type Owed, runCalls } from './run-calls.ts'
import { isSensitiveMessage } from './conversation/sensitive-message.ts'
import { shownMessage } from './conversation/message-view.ts'
import { ToolsOfTurn, toolTokens } from './turn-tools.ts'
import { overCost, usageRow } from './usage.ts'
import { tellNotice } from './conversation/deliver-notice.ts'
import type { TurnStop } from './turn-stop.ts'
import { handedOver, partsOf } from './conversation/user-message.ts'

type Keep = NonNullable<Change['documents']>
type Ends = Promise<Outcome | null>

interface Entered {
  readonly stop: TurnStop
  readonly history: History
  readonly head: HeadRow
  /** An earlier execution was at it. */
  readonly again: boolean
}

export class OpenTurn {
  readonly #execution: Execution
  readonly #host: TurnHost
  readonly #stop: TurnStop
  readonly #history: History
  readonly #request: TurnRequest
  #frame: FrameTerms
  readonly #tools: ToolsOfTurn
  #account: Account = {}
  /** The next answer may have been asked for by an execution that is gone. */
  #again: boolean

  constructor(execution: Execution, host: TurnHost, { stop, history, head, again }: Entered) {
    this.#execution = execution
    this.#host = host
    this.#stop = stop
    this.#history = history
    this.#again = again
    this.#request = decode(execution.request.input) as unknown as TurnRequest
    this.#frame = this.#request.frame
    this.#tools = new ToolsOfTurn(host, execution.request.position, new Set(head.on))
    history.shown = (message) => shownMessage(message, this.#tools.set)
  }

  get #id(): string {
    return this.#execution.request.position.id
  }

  get #last(): KeptMessage | undefined {
    return this.#history.lastOf(this.#id)
  }

  /** How it ends, if what it worked in is gone. */
  async begin(): Ends {
    const { position } = this.#execution.request
    await this.#host.learn(position)
    // Contracts of a source that is away are not waited for long; who is away has said so in the log.
    await Promise.allSettled(
      this.#tools.set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])),
    )
    this.#again &&= await mayHaveAsked(this.#host, position, this.#last)
    const lost = this.#recalls(this.#history.ofTurn(this.#id))
    if (lost || this.#last) return lost
    await this.#mend()
    const { message } = this.#request
    await this.#hears(true)
    if (message !== null) this.#say({ role: 'user', parts: partsOf(message, this.#execution, this.#host) })
    return null
  }

  /** Calls of a turn that ended without hearing of them (SESS-3): what is on record of them is their result. */
  async #mend(): Promise<void> {
    const last = this.#history.last
    if (last?.message.role !== 'assistant' || callsIn(last.message).length === 0) return
    const { results, owed } = await mended(
      this.#host,
      this.#execution.request.position,
      last,
      this.#tools.reads(this.#frame.tools),
    )
    this.#say({ role: 'tool', results })
    this.#owes(owed)
  }

  /** What comes of them is told later, under the names by which the model knows them. */
  #owes(owed: readonly Owed[]): void {
    const shown = this.#history.forModel().at(-1)
    for (const [order, row] of owed)
      this.#execution.attached.keep(row(shown?.role === 'tool' ? shown.results[order]?.callId : undefined))
  }

  /** What an earlier execution has come to, as what was said last tells. */
  #recalls(said: readonly KeptMessage[]): Outcome | null {
    this.#account = said.findLast(({ account }) => account)?.account ?? this.#account
    const last = said.findLast(({ frame, message }) => frame !== undefined || message.role === 'frame')
    const frame = last?.message.role === 'frame' ? last.message.frame : last?.frame
    return frame === undefined ? null : this.#switched({ frame }, last?.frameModel)
  }

  async runCalls(): Ends {
    const last = this.#last
    if (last?.message.role === 'tool' && last.control !== undefined) return this.#controlled(last.control as Control)
    const calls = last?.message.role === 'assistant' ? callsIn(last.message) : []
    if (!last || calls.length === 0) return null
    const ran = await runCalls(this.#host, this.#execution, {
      step: last.step,
      calls,
      tools: this.#tools.in(this.#frame.tools).set,
      within: this.#tools.within(this.#frame.tools),
      parallel: this.#frame.parallel,
      frame: this.#frame.name,
      backgroundMs: this.#request.backgroundMs,
      signal: this.#stop.calls,
    })
    if (ran.unheard.length > 0)
      this.#host.logger.warn('Several tools wanted to end the turn; the first was heard', {
        turn: this.#id,
        others: ran.unheard,
      })
    this.#say({ role: 'tool', results: ran.results }, this.#tools.reveal(this.#frame.tools, ran.mistaken), {
      ...(ran.unheard.length > 0 ? { unheard: ran.unheard } : {}),
      ...(ran.control ? { control: ran.control } : {}),
      ...(ran.invalid ? { invalid: this.#invalid + 1 } : {}),
    })
    this.#owes(ran.owed)
    if (this.#stop.outcome) return this.#stop.outcome
    if (ran.control) return this.#controlled(ran.control)
    return this.#invalid < this.#limits.invalid ? null : tooManyInvalid(this.#invalid)
  }

  /** How many answers in a row had only calls that could not be made. */
  get #invalid(): number {
    return this.#history.lastOf(this.#id, 'tool')?.invalid ?? 0
  }

  #controlled(control: Control): Outcome | null {
    if ('finish' in control) return this.#ends('finish', control.finish)
    if ('fail' in control) return { status: 'failure', failure: control.fail }
    const last = this.#history.last
    // It was heard when the next frame has begun.
    if (last?.message.role !== 'tool') return null
    const known = this.#switched(control.switchFrame)
    if (known) return known
    const words = handedOver(control.switchFrame, this.#history)
    this.#say({ role: 'frame', frame: control.switchFrame.frame })
    for (const { message, secret } of words) this.#say(message, [], secret ? { secret } : {})
    return null
  }

  /** Works in another frame from now on; how the turn ends if there is none of that name. */
  #switched({ frame: name }: { readonly frame: string }, before = this.#frame.model): Outcome | null {
    const frame = this.#host.frame(name)
    if (!frame) return noSuchFrame(name)
    const model = frame.model === undefined ? before : modelOf(frame.model, this.#host).name
    this.#frame = termsOf(frame, model)
    return null
  }

  /** Null while there is something to do. */
  async isAnswered(): Ends {
    const last = this.#last
    if (last?.message.role !== 'assistant' || callsIn(last.message).length > 0) return null
    // What was said with its last answer is for the next turn.
    const mayGoOn = this.#step < this.#limits.steps && !this.#overCost
    if (mayGoOn && (await isSaid(this.#host, this.#execution.request.position))) return null
    return this.#ends('answer', null)
  }

  async hear(): Ends {
    if (this.#step >= this.#limits.steps) return tooManyAnswers(this.#step)
    if (this.#overCost) return this.#overCost
    // Of a turn that begins they are there already.
    if (this.#step > 0) await this.#hears(false)
    // A model that is given its own last words has nothing to answer; looked at before anybody is paid to sum them up.
    if ((this.#history.forModel().at(-1)?.role ?? 'assistant') === 'assistant')
      // Woken for what another turn has heard meanwhile, it has nothing to do.
      return isWoken(this.#id) ? this.#ends('answer', null) : nothingSaid()
    const model = this.#model
    const { historyTokens } = this.#limits
    const beside = tokensIn(this.#instructions ?? '') + toolTokens(this.#tools.in(this.#frame.tools))
    try {
      await this.#sumUp(model, { limit: historyTokens === Infinity ? limitFor(model, beside) : historyTokens })
      return null
    } catch (error) {
      return this.#unanswered(model, error)
    }
  }

  /** True if something was summed up. */
  #sumUp(
    model: Model,
    how: { limit: number; keep?: number; whole?: true },
    more: Pick<KeptMessage, 'tooLong'> = {},
  ): Promise<boolean> {
    return sumUp(this.#host, this.#execution, this.#history, {
      model,
      ...how,
      signal: this.#stop.signal,
      next: (message, upTo, usage) => this.#next(message, { upTo, usage, model: model.name, ...more }),
      add: (kept) => this.#history.add(kept),
    })
  }

  /** How the turn ends when its model could not answer. */
  #unanswered({ name }: Model, error: unknown): Outcome {
    if (!(error instanceof ModelFailure) || this.#stop.signal.aborted) throw error
    this.#host.logger.error('A model could not answer', { model: name, turn: this.#id, error })
    return notAnswered(name, error)
  }

  async ask(): Ends {
    const model = this.#model
    for (;;) {
      // A summary may have cost what was left.
      if (this.#overCost) return this.#overCost
      try {
        await this.#answered(model)
        return null
      } catch (error) {
        const wrong = await this.#shortened(model, error)
        if (wrong !== null) return this.#unanswered(model, wrong)
      }
    }
  }

  /** One answer, on record with its message. */
  async #answered(model: Model): Promise<void> {
    const step = this.#step + 1
    const { settings, parallel } = this.#frame
    const request = {
      instructions: this.#instructions,
      settings,
      parallel,
      messages: this.#history.forModel(),
      tools: await this.#tools.told(this.#frame.tools),
    }
    const again = this.#again
    this.#again = false
    let added: KeptMessage | null = null
    await this.#execution.run({ key: `model:${step}`, input: null, once: false }, async () => {
      const answer = await askModel(this.#host, this.#execution, model, {
        request,
        step,
        signal: this.#stop.signal,
        again,
      })
      const usage = { ...answer.usage, cost: costOf(answer.usage, model.price) }
      const message: AssistantMessage = { role: 'assistant', parts: answer.parts }
      const { kept, row } = this.#next(message, { step, usage, model: model.name, finish: answer.finish })
      added = kept
      const { finish, usage: tokens } = answer
      const tells = [
        { type: 'turn.answered' as const, body: { turn: this.#id, step, message: kept.number, finish, usage: tokens } },
      ]
      return { done: String(kept.number), beside: { documents: [row], tells } }
    })
    if (added) this.#history.add(added)
  }

  /**
   * A model that cannot read all of it (SESS-10), whatever is known of what it can: half of the conversation is summed up; should that not be enough, all but what
   * it is to answer. On record, so each is done once for an answer. Null if it can be asked again, else what went wrong.
   */
  async #shortened(model: Model, error: unknown): Promise<unknown> {
    if (!(error instanceof ModelFailure) || !error.tooLong) return error
    const { turn, step, tooLong = 0 } = this.#history.summedUp ?? {}
    const before = turn === this.#id && step === this.#step ? tooLong : 0
    if (before >= 2) return error
    const limit = Math.floor(this.#history.tokens / 2)
    try {
      const isShorter = await this.#sumUp(
        model,
        { limit, keep: before === 0 ? limit : 0, whole: true },
        { tooLong: before + 1 },
      )
      return isShorter ? null : error
    } catch (wrong) {
      return wrong
    }
  }

  /** What it has cost goes on the account of its session, whatever became of it: on record with its end. */
  count(): void {
    const { position, uid } = this.#execution.request
    if (Object.keys(this.#account).length > 0)
      this.#execution.attached.keep(usageRow(position, uid, { models: this.#account, tool: null }))
  }

  get #limits(): CapabilityLimits {
    return strictest(this.#request, this.#host.switches.all.limits(this.#tools.on))
  }

  get #overCost(): Outcome | null {
    return overCost(this.#account, this.#limits.cost, this.#model)
  }

  get #instructions(): string | null {
    return this.#host.switches.all.instructions(this.#tools.on, this.#frame.instructions)
  }

  get #step(): number {
    return this.#last?.step ?? 0
  }

  get #model(): Model {
    return modelOf(this.#frame.model, this.#host)
  }

  /** What has arrived. */
  async #hears(begins: boolean): Promise<void> {
    const arrived = await arrivals(this.#host, this.#execution, {
      begins,
      reads: this.#tools.reads(this.#frame.tools),
    })
    for (const each of arrived) {
      const more = each.secret ? { secret: each.secret } : {}
      if (each.notice === undefined) this.#say(each.message, each.rows, more)
      else await tellNotice(this.#host, this.#execution, each, this.#history, () => this.#next(each.message, more))
    }
  }

  #next(message: Message, more: Partial<KeptMessage>): ReturnType<History['next']> {
    const { position } = this.#execution.request
    const { usage, model } = more
    if (usage && model !== undefined) this.#account = charged(this.#account, model, usage)
    const frame = this.#frame === this.#request.frame ? {} : { frame: this.#frame.name, frameModel: this.#frame.model }
    const given = {
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
      given,
      more.secret ?? isSensitiveMessage(message, this.#tools.set, this.#history),
    )
  }

  /** On record with what is written next. */
  #say(message: Message, rows: Keep = [], more: Partial<KeptMessage> = {}): void {
    const { kept, row } = this.#next(message, more)
    this.#execution.attached.keep(row, ...rows)
    const { number, unheard } = kept
    const told = { message: number, role: message.role, turn: this.#id, ...(unheard === undefined ? {} : { unheard }) }
    this.#execution.attached.tell('message.added', told)
    this.#history.add(kept)
  }

  #ends(end: TurnValue['end'], value: Json): Outcome {
    const said = this.#history.lastOf(this.#id, 'assistant')
    const text = said?.message.role === 'assistant' ? textIn(said.message.parts) : ''
    const { times: _, ...usage } = sumOf(this.#account)
    const ended: TurnValue = { end, text, value, steps: this.#step, usage, finish: said?.finish ?? 'other' }
    return { status: 'success', value: ended as unknown as Json }
  }
}
