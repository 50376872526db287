// `pawl tail`: events as they happen.

import type { StreamEvent } from '../../client/client-types.ts'
import type { Run } from '../cli.ts'
import { describeEvent, typeOf } from '../describe-event.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { timeOf } from '../output/format.ts'
import { dim, type Output, yellow } from '../output/output.ts'
import { given } from '../read-arguments.ts'

interface TailFlags {
  readonly all?: boolean
  readonly after?: string
  readonly internal?: boolean
  readonly language?: string
}

export const tail: Run<TailFlags> = async (
  cli,
  [session],
  { all, after, internal, language = 'en' },
): Promise<ExitCode> => {
  const { output, signal } = cli
  const client = await cli.client()
  const from = after ?? (all ? undefined : 'now')
  const query = { live: true, narrate: language, ...given({ after: from, internal }) }
  const events =
    session === undefined
      ? client.events.stream(query, { signal })
      : client.sessions.events({ session, ...query }, { signal })
  output.note(
    dim(
      `Events of ${session === undefined ? 'all sessions' : session}${from === 'now' ? ' from now on' : ''}. Ctrl-C ends.`,
    ),
  )
  const screen = new TailScreen(output, session === undefined, internal === true)
  for await (const event of events) {
    if (output.format === 'human') screen.show(event)
    else output.json(event)
  }
  screen.flush()
  return signal.aborted ? exitCodes.interrupted : exitCodes.unavailable
}

/** Lines of events. Pieces of an answer are collected to lines of text. */
class TailScreen {
  readonly #output: Output
  readonly #showsSession: boolean
  readonly #showsInternal: boolean
  #text = ''

  constructor(output: Output, showsSession: boolean, showsInternal: boolean) {
    this.#output = output
    this.#showsSession = showsSession
    this.#showsInternal = showsInternal
  }

  show(event: StreamEvent): void {
    if ('reset' in event) {
      this.flush()
      this.#output.line(yellow('── The events begin again: the cursor has expired. ──'))
      return
    }
    // Bookkeeping of the MCP server: two events for each call.
    if (!this.#showsInternal && event.session.startsWith('pawl:mcp-')) return
    if (event.type === 'turn.delta') {
      if (event.body.type === 'text') this.#collect(event.body.delta)
      return
    }
    this.flush()
    const session = this.#showsSession && event.session !== '' ? [dim(`${event.session}  `)] : []
    this.#output.fitted(dim(timeOf(event.at)), '  ', typeOf(event), '  ', ...session, describeEvent(event))
  }

  #collect(delta: string): void {
    this.#text += delta
    const lines = this.#text.split('\n')
    this.#text = lines.pop() ?? ''
    for (const line of lines) this.#answer(line)
  }

  flush(): void {
    if (this.#text !== '') this.#answer(this.#text)
    this.#text = ''
  }

  #answer(line: string): void {
    this.#output.line(dim('          │ '), line)
  }
}
