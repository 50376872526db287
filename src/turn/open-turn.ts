// A turn on its way: what it does next follows from the last thing that is on record of it.

import type { Invocation } from '../engine/engine.ts'
import { revealedName } from '../journal/message.ts'
import { type Control, failure, type Outcome } from '../kernel/outcome.ts'
import { decode, type Json } from '../kernel/value.ts'
import { type Account, charged, sumOf } from '../model/account.ts'
import { type AssistantMessage, callsIn, type Message, textIn } from '../model/message.ts'
import { costOf, type Model, ModelFailure } from '../model/model.ts'
import type { TurnValue } from '../model/turn.ts'
import { readOutputName } from '../tool/read-output.ts'
import type { Change } from '../store/store.ts'
import type { Toolset } from '../tool/toolset.ts'
import { arrivals, isSaid } from './arrivals.ts'
import { askModel } from './ask-model.ts'
import { sumUp } from './compact.ts'
import { type History, type KeptMessage, tokensIn } from './history.ts'
import type { TurnHost } from './host.ts'
import { type FrameTerms, modelOf, strictest, termsOf, type TurnRequest } from './request.ts'
import { mended } from './mend.ts'
import { runCalls } from './run-calls.ts'
import { isSensitiveMessage } from './sensitive-message.ts'
import { shownMessage } from './shown-message.ts'
import { modelTools, revealedIn, toolsIn, toolTokens, type TurnTools } from './tools-in-turn.ts'
import { usageRow } from './usage.ts'
import type { TurnStop } from './turn-stop.ts'

type Keep = NonNullable<Change['keep']>
type Ends = Promise<Outcome | null>

export class OpenTurn {
  readonly #invocation: Invocation
  readonly #host: TurnHost
  readonly #stop: TurnStop
  readonly #history: History
  readonly #request: TurnRequest
  #frame: FrameTerms
  /** What stood when it began here (TOOL-4). */
  readonly #set: Toolset
  /** Capabilities that were on when it began here. */
  #on: ReadonlySet<string> = new Set()
  #known: { readonly names: readonly string[] | null; readonly tools: TurnTools } | null = null
  /** Tools that the model called wrongly, by id; on record with what is written next. */
  readonly #mistaken = new Set<string>()
  #account: Account = {}

  constructor(invocation: Invocation, host: TurnHost, stop: TurnStop, history: History) {
    this.#invocation = invocation
    this.#host = host
    this.#stop = stop
    this.#history = history
    this.#request = decode(invocation.request.input) as unknown as TurnRequest
    this.#frame = this.#request.frame
    this.#set = host.tools(invocation.request.position)
    history.shown = (message) => shownMessage(message, this.#set)
  }

  /** Of the turn; '' where it is not known. */
  get #id(): string {
    return this.#invocation.request.position.id
  }

  get #last(): KeptMessage | undefined {
    return this.#history.lastOf(this.#id)
  }

  /** How it ends, if what it worked in is gone. */
  async begin(): Ends {
    const { position } = this.#invocation.request
    this.#on = await this.#host.switches.on(position)
    await this.#host.learn(position)
    // Contracts of a source that is away are not waited for long; who is away has said so in the log.
    await Promise.allSettled(this.#set.entries.flatMap(({ tool, remote }) => (tool || !remote ? [] : [remote.load()])))
    const lost = this.#recalls(this.#history.ofTurn(this.#id))
    if (lost || this.#last) return lost
    await this.#mend()
    const { message } = this.#request
    for (const { message: said, rows, secret } of await this.#arrived(true)) this.#say(said, rows, secret ? { secret } : {})
    if (message !== null) this.#say({ role: 'user', parts: [{ type: 'text', text: this.#host.clean(message) }] })
    return null
  }

  /** Calls of a turn that ended without hearing of them (SESS-3): what is on record of them is their result. */
  async #mend(): Promise<void> {
    const last = this.#history.last
    if (last?.message.role !== 'assistant' || callsIn(last.message).length === 0) return
    const { results, owed } = await mended(this.#host, this.#invocation.request.position, last, this.#reads)
    this.#say(
      { role: 'tool', results },
      owed.map(([, row]) => row(undefined)),
    )
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
    const ran = await runCalls(this.#host, this.#invocation, {
      step: last.step,
      calls,
      tools: this.#tools.set,
      within: this.#within,
      parallel: this.#frame.parallel,
      frame: this.#frame.name,
      backgroundMs: this.#request.backgroundMs,
      signal: this.#stop.signal,
    })
    if (ran.unheard.length > 0)
      this.#host.logger.warn('Several tools wanted to end or hand over the turn; the first was heard', {
        turn: this.#id,
        others: ran.unheard,
      })
    this.#say({ role: 'tool', results: ran.results }, this.#reveal(ran.mistaken), {
      ...(ran.control ? { control: ran.control } : {}),
      ...(ran.invalid ? { invalid: this.#invalid + 1 } : {}),
    })
    const shown = this.#history.forModel().at(-1)
    for (const [order, row] of ran.owed)
      this.#invocation.beside.keep(row(shown?.role === 'tool' ? shown.results[order]?.callId : undefined))
    if (this.#stop.outcome) return this.#stop.outcome
    if (ran.control) return this.#controlled(ran.control)
    if (this.#invalid < this.#limits.invalid) return null
    const message = `The model asked ${this.#invalid} times in a row for calls that could not be made; the turn was ended.`
    return failure({ class: 'resource_limit', code: 'turn_invalid_calls', message })
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
    const { frame, task, initial } = control.switchFrame
    this.#say({ role: 'frame', frame })
    const said = [
      ...(initial === undefined ? [] : [typeof initial === 'string' ? initial : JSON.stringify(initial)]),
      ...(task === undefined ? [] : [task]),
    ]
    if (said.length > 0) this.#say({ role: 'user', parts: [{ type: 'text', text: said.join('\n\n') }] })
    return null
  }

  /** Works in another frame from now on; how the turn ends if there is none of that name. */
  #switched({ frame: name }: { readonly frame: string }, before = this.#frame.model): Outcome | null {
    const frame = this.#host.frame(name)
    if (!frame) return failure({ class: 'unavailable', code: 'frame_unknown', message: `There is no frame '${name}' to hand the turn to.` })
    const model = frame.model === undefined ? before : modelOf(frame.model, this.#host).name
    this.#frame = termsOf(frame, model)
    return null
  }

  /** Null while there is something to do. */
  async isAnswered(): Ends {
    const last = this.#last
    if (last?.message.role !== 'assistant' || callsIn(last.message).length > 0) return null
    // What was said with its last answer is for the next turn.
    if (this.#step < this.#limits.steps && (await isSaid(this.#host, this.#invocation.request.position))) return null
    return this.#ends('answer', null)
  }

  async hear(): Ends {
    if (this.#step >= this.#limits.steps) {
      const message = `The turn ended after ${this.#step} answers of the model, as many as it may have.`
      return failure({ class: 'resource_limit', code: 'turn_limit', message })
    }
    // Of a turn that begins they are there already.
    if (this.#step > 0)
      for (const { message, rows, secret } of await this.#arrived(false)) this.#say(message, rows, secret ? { secret } : {})
    const model = this.#model
    try {
      await sumUp(this.#host, this.#invocation, this.#history, {
        model,
        most: this.#limits.historyTokens,
        beside: tokensIn(this.#host.switches.all.instructions(this.#on, this.#frame.instructions) ?? '') + toolTokens(this.#tools),
        signal: this.#stop.signal,
        next: (message, upTo, usage) => this.#next(message, { upTo, usage, model: model.name }),
        add: (kept) => this.#history.add(kept),
      })
      return null
    } catch (error) {
      return this.#unanswered(model, error)
    }
  }

  /** How the turn ends when its model could not answer. */
  #unanswered({ name }: Model, error: unknown): Outcome {
    if (!(error instanceof ModelFailure) || this.#stop.signal.aborted) throw error
    this.#host.logger.error('A model could not answer', { model: name, turn: this.#id, error })
    const message = `The model '${name}' could not answer: ${error.what}.`
    return failure({ class: 'external', code: 'model_failed', message, retry: error.retryable ? { when: 'safe' } : { when: 'never' } })
  }

  async ask(): Ends {
    const model = this.#model
    const step = this.#step + 1
    const { settings, parallel } = this.#frame
    const request = {
      instructions: this.#host.switches.all.instructions(this.#on, this.#frame.instructions),
      settings,
      parallel,
      messages: this.#history.forModel(),
      tools: modelTools(this.#tools, await this.#revealed()),
    }
    // A model that is given its own last words has nothing to answer.
    if ((request.messages.at(-1)?.role ?? 'assistant') === 'assistant')
      return failure({ class: 'invalid_request', code: 'turn_empty', message: 'Nobody has said anything that the model could answer.' })
    let added: KeptMessage | null = null
    try {
      await this.#invocation.run({ key: `model:${step}`, input: null, once: false }, async () => {
        const answer = await askModel(this.#host, this.#invocation, model, { request, step, signal: this.#stop.signal })
        const usage = { ...answer.usage, cost: costOf(answer.usage, model.price) }
        const message: AssistantMessage = { role: 'assistant', parts: answer.parts }
        const { kept, row } = this.#next(message, { step, usage, model: model.name, finish: answer.finish })
        added = kept
        const tells = [
          {
            type: 'turn.answered' as const,
            body: { turn: this.#id, step, message: kept.number, finish: answer.finish, usage: answer.usage },
          },
        ]
        return { done: String(kept.number), beside: { keep: [row], tells } }
      })
    } catch (error) {
      return this.#unanswered(model, error)
    }
    if (added) this.#history.add(added)
    return null
  }

  /** What it has cost goes on the account of its session, whatever became of it: on record with its end. */
  count(): void {
    const { position, uid } = this.#invocation.request
    if (Object.keys(this.#account).length > 0) this.#invocation.beside.keep(usageRow(position, uid, { models: this.#account, tool: null }))
  }

  get #limits(): Pick<TurnRequest, 'steps' | 'invalid' | 'historyTokens'> {
    return strictest(this.#request, this.#host.switches.all.limits(this.#on))
  }

  get #step(): number {
    return this.#last?.step ?? 0
  }

  get #model(): Model {
    return modelOf(this.#frame.model, this.#host)
  }

  /** By name, where it does not have all that there is: whoever takes a search up looks among these. */
  get #within(): readonly string[] | null {
    const { tools } = this.#frame
    const offered = this.#offered
    return tools?.filter((name) => offered.find(name)) ?? (offered === this.#set ? null : offered.offered)
  }

  /** What the session has of what stood when the turn began. */
  get #offered(): Toolset {
    return this.#host.switches.all.offered(this.#set, this.#on)
  }

  get #tools(): TurnTools {
    const { tools: names } = this.#frame
    if (!this.#known || this.#known.names !== names) this.#known = { names, tools: toolsIn(this.#offered, names, this.#host.searchFrom) }
    return this.#known.tools
  }

  /** Whose schemas the model is shown though they are deferred. */
  async #revealed(): Promise<ReadonlySet<string>> {
    if (this.#tools.deferred.size === 0) return this.#mistaken
    return new Set([...(await revealedIn(this.#host.store, this.#invocation.request.position)), ...this.#mistaken])
  }

  /** A model that called a tool without its schema, and wrongly, is shown it next time. */
  #reveal(names: readonly string[]): Keep {
    const { set, deferred } = this.#tools
    const tools = names.flatMap((name) => set.get(name) ?? []).filter((tool) => deferred.has(tool))
    return [...new Set(tools)].map(({ id }) => {
      this.#mistaken.add(id)
      return { ...revealedName(this.#invocation.request.position, id), value: '1' }
    })
  }

  /** Whether the model can read on in a result that it was shown a part of. */
  get #reads(): boolean {
    return this.#tools.set.get(readOutputName) !== undefined
  }

  async #arrived(begins: boolean): ReturnType<typeof arrivals> {
    return arrivals(this.#host, this.#invocation.request.position, { begins, reads: this.#reads })
  }

  #next(message: Message, more: Partial<KeptMessage>): ReturnType<History['next']> {
    const { position } = this.#invocation.request
    const { usage, model } = more
    if (usage && model !== undefined) this.#account = charged(this.#account, model, usage)
    const frame = this.#frame === this.#request.frame ? {} : { frame: this.#frame.name, frameModel: this.#frame.model }
    const given = { at: this.#host.clock.now(), turn: this.#id, step: this.#step, account: this.#account, ...frame, ...more, message }
    return this.#history.next(position, given, more.secret ?? isSensitiveMessage(message, this.#set, this.#history))
  }

  /** On record with what is written next. */
  #say(message: Message, rows: Keep = [], more: Partial<KeptMessage> = {}): void {
    const { kept, row } = this.#next(message, more)
    this.#invocation.beside.keep(row, ...rows)
    this.#invocation.beside.tell('message.added', { message: kept.number, role: message.role, turn: this.#id })
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
