// `pawl turn`: sends a message and streams the answer. The text is on stdout, what the tools do is on stderr.

import { randomUUID } from 'node:crypto'
import type { Client, StreamEvent } from '../../client/client-types.ts'
import type { Cli, Run } from '../cli.ts'
import { describeEvent } from '../describe-event.ts'
import { type ExitCode, exitCodeOfOutcome, exitCodes } from '../exit-codes.ts'
import type { InboxItem, StoredMessage } from '../../index.ts'
import { problemOf } from '../output/format.ts'
import { bold, dim, red, yellow } from '../output/output.ts'
import { progressBar } from '../progress-bar.ts'
import { given, textOrStdin } from '../read-arguments.ts'
import { hintFor } from './inbox.ts'
import { pause } from './worker.ts'

interface TurnFlags {
  readonly model?: string
  readonly frame?: string
  readonly id?: string
}

export const turn: Run<TurnFlags> = async (cli, [session = '', ...words], { model, frame, id }) => {
  const message = words.length === 1 ? await textOrStdin(words[0] as string) : words.join(' ')
  const client = await cli.client({ tools: true, worker: true, create: true })
  const turnId = id ?? `turn_${randomUUID()}`
  const stop = new AbortController()
  const signal = AbortSignal.any([cli.signal, stop.signal])
  const events = client.sessions.events({ session, live: true, after: 'now', narrate: 'en' }, { signal })
  const watch = new TurnWatch(cli, client, session, turnId)
  await watch.skipPast(id === undefined)
  // The stream is opened first; the turn begins while it is read.
  const reading = watch.read(events, signal)
  reading.catch(() => {})
  const end = await client.turns
    .start({ session, message, id: turnId, ...given({ model, frame }) })
    .then(() => reading)
    .finally(() => stop.abort())
  if (cli.signal.aborted) return exitCodes.interrupted
  return end === 'waiting' ? watch.showWaiting() : watch.showEnd()
}

/** How often the state is looked at besides the events. */
const pollMs = 1_000

class TurnWatch {
  readonly #cli: Cli
  readonly #client: Client
  readonly #session: string
  readonly #turn: string
  readonly #working = new Set<string>()
  /** Items that were shown to the person. */
  readonly #seen = new Set<string>()
  /** Items of other calls, from before the turn. */
  readonly #skipped = new Set<string>()
  /** Streamed answers whose message was not read yet. */
  readonly #answers: string[] = []
  #lastMessage = 0
  #hasPrinted = false
  /** The person is being asked. */
  #asking = false

  constructor(cli: Cli, client: Client, session: string, turn: string) {
    this.#cli = cli
    this.#client = client
    this.#session = session
    this.#turn = turn
  }

  /** Leaves out what was said before the turn; if the turn is new, also what waits for people already. */
  async skipPast(isNew: boolean): Promise<void> {
    await this.#unreadMessages()
    if (isNew) for (const { id } of await this.#openItems()) this.#skipped.add(id)
  }

  /** Reads until the turn has ended, or until everything in it waits for people. */
  async read(events: AsyncIterable<StreamEvent>, signal: AbortSignal): Promise<'ended' | 'waiting'> {
    const end = await Promise.race([this.#readEvents(events), this.#poll(signal)])
    await this.#printMissing()
    return end
  }

  async #readEvents(events: AsyncIterable<StreamEvent>): Promise<'ended' | 'waiting'> {
    for await (const event of events) {
      if ('reset' in event) continue
      this.#show(event)
      if (event.type === 'turn.answered') await this.#printMissing()
      if ((event.type === 'turn.ended' || event.type === 'turn.failed') && event.body.turn === this.#turn)
        return 'ended'
      if (event.type === 'call.received' || event.type === 'call.started') this.#working.add(event.call)
      if (event.type === 'call.settled' || event.type === 'call.parked') this.#working.delete(event.call)
      const parks = event.type === 'call.parked' || event.type === 'call.settled'
      if (parks && this.#working.size === 0 && (await this.#askPerson())) return 'waiting'
    }
    return 'ended'
  }

  /**
   * Looks at the state now and then: a turn can end or wait before the stream of a server is open, and a repeated
   * command joins a turn that has ended.
   */
  async #poll(signal: AbortSignal): Promise<'ended' | 'waiting'> {
    const at = { session: this.#session, turn: this.#turn }
    while (!signal.aborted) {
      await pause(pollMs, signal)
      if (this.#asking || signal.aborted) continue
      const state = await this.#client.turns.get({ ...at, wait: 0 }).catch(() => null) // not recorded yet
      if (state?.status === 'ended') return 'ended'
      if (state && this.#working.size === 0 && (await this.#askPerson())) return 'waiting'
    }
    return 'ended'
  }

  /** Messages of the conversation that were not read yet. */
  async #unreadMessages(): Promise<StoredMessage[]> {
    const unread: StoredMessage[] = []
    for (;;) {
      const page = await this.#client.messages.list({ session: this.#session, after: this.#lastMessage, limit: 1_000 })
      unread.push(...page)
      this.#lastMessage = page.at(-1)?.number ?? this.#lastMessage
      if (page.length < 1_000) return unread
    }
  }

  /** Prints what the turn said and the stream did not bring. */
  async #printMissing(): Promise<void> {
    for (const { turn, message } of await this.#unreadMessages()) {
      if (turn !== this.#turn || message.role !== 'assistant') continue
      const text = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      const streamed = this.#answers.findIndex((each) => text.startsWith(each))
      const [shown = ''] = streamed === -1 ? [] : this.#answers.splice(streamed, 1)
      this.#print(text.slice(shown.length))
      if (text !== '') this.#cli.output.endStream()
    }
  }

  #print(text: string): void {
    if (text === '') return
    this.#hasPrinted = true
    if (this.#cli.output.format === 'human') this.#cli.output.stream(text)
  }

  #show(event: Exclude<StreamEvent, { reset: true }>): void {
    const { output } = this.#cli
    const isOther = 'turn' in event.body && event.body.turn !== this.#turn
    if (isOther) return
    switch (event.type) {
      case 'turn.delta':
        if (event.body.type !== 'text') return
        this.#answers.push((this.#answers.pop() ?? '') + event.body.delta)
        this.#print(event.body.delta)
        return
      case 'turn.retracted':
        this.#answers.pop()
        output.endStream()
        output.note(yellow('↺'), ' The answer broke off; the model is asked again.')
        return
      case 'turn.answered':
        output.endStream()
        return
      case 'call.progress':
        output.status(dim('  '), progressBar(event.body))
        return
      case 'call.started':
        output.note(dim('→ '), bold(event.tool ?? ''), dim(` ${event.narration ?? ''}`))
        return
      case 'call.queued':
        output.note(yellow('↻ '), bold(event.tool ?? ''), dim(` ${event.body.code}; it is tried again`))
        return
      case 'call.settled':
        output.note(describeEvent(event))
        return
      default:
    }
  }

  /** Asks the person at the terminal about open items. True if the turn waits and no person is there. */
  async #askPerson(): Promise<boolean> {
    const items = await this.#openItems()
    if (!this.#cli.interactive) return items.length > 0
    const fresh = items.filter(({ id }) => !this.#seen.has(id))
    for (const { id } of fresh) this.#seen.add(id)
    if (fresh.length === 0 || this.#asking) return false
    this.#asking = true
    try {
      await this.#printMissing()
      const { decideInteractively } = await import('../decide-interactively.ts')
      await decideInteractively(this.#cli, this.#client, fresh)
      return (await this.#openItems()).length > 0
    } finally {
      this.#asking = false
    }
  }

  async #openItems(): Promise<InboxItem[]> {
    const items = await this.#client.inbox.list({ session: this.#session, limit: 100 })
    return items.filter(({ id }) => !this.#skipped.has(id))
  }

  async showWaiting(): Promise<ExitCode> {
    const { output } = this.#cli
    const items = await this.#openItems()
    output.result({ turn: this.#turn, status: 'waiting', inbox: items }, () => {
      for (const item of items) {
        output.note(yellow('● '), bold(item.tool), ` waits for ${item.kind === 'question' ? 'an answer' : 'a person'}`)
        output.note(dim(`  ${hintFor(item)}`))
      }
    })
    return exitCodes.waiting
  }

  async showEnd(): Promise<ExitCode> {
    const { output } = this.#cli
    output.endStream()
    const { outcome } = await this.#client.turns.get({ session: this.#session, turn: this.#turn, wait: '1s' })
    const ended = { turn: this.#turn, status: outcome?.status ?? 'open', outcome }
    output.result(ended, () => {
      // A turn that had ended before is only read.
      if (outcome?.status === 'success' && !this.#hasPrinted) this.#print(outcome.value.text)
      output.endStream()
      if (outcome === null) output.problem(yellow('● '), 'The turn goes on.')
      else if (outcome.status !== 'success') output.problem(red('✗ '), problemOf(outcome))
    })
    return exitCodeOfOutcome(outcome?.status === 'failure' ? outcome : { status: ended.status })
  }
}
