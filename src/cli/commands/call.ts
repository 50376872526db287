// `pawl call`: runs one tool and prints its result.

import { randomUUID } from 'node:crypto'
import type { Client } from '../../client/client-types.ts'
import type { Cli, Run } from '../cli.ts'
import { type ExitCode, exitCodeOfOutcome, exitCodes } from '../exit-codes.ts'
import { indented, problemOf, span } from '../output/format.ts'
import { bold, dim, green, type Output, red, yellow } from '../output/output.ts'
import { progressBar } from '../progress-bar.ts'
import { given, notFound, readDuration, readJson } from '../read-arguments.ts'
import { hintFor } from './inbox.ts'

interface CallFlags {
  readonly session?: string
  readonly key?: string
  /** False with `--no-wait`. */
  readonly wait?: string | boolean
}

type Result = Awaited<ReturnType<Client['calls']['run']>>

export const call: Run<CallFlags> = async (
  cli,
  [tool = '', text],
  { session = 'cli', key, wait },
): Promise<ExitCode> => {
  const { output } = cli
  const input = text === undefined ? {} : await readJson(text, 'The input')
  const until = wait === false ? 'accepted' : typeof wait === 'string' ? readDuration(wait, '--wait') : 'waiting'
  const client = await cli.client({ tools: true, worker: wait !== false, create: true })
  const known = (await client.tools.list({})).map(({ name }) => name)
  if (!known.includes(tool)) throw notFound('tool', tool, known)
  const started = performance.now()
  // The key is also the id, so that a command that is repeated joins the same call.
  const id = key ?? `call_${randomUUID()}`
  const stopProgress = showProgress(cli, client, session, id)
  const result = await client.calls
    .run({ session, name: tool, input, until, id, ...given({ idempotencyKey: key }) })
    .finally(stopProgress)
  if (output.format !== 'human') output.json(result)
  else await show(result, client, session, output, performance.now() - started)
  if (result.status === 'running' && wait === false) return exitCodes.ok
  return exitCodeOfOutcome(result.status === 'failure' ? result : { status: result.status })
}

/** Shows the progress of the call on a terminal, until the returned function is called. */
function showProgress({ output, signal }: Cli, client: Client, session: string, id: string): () => void {
  if (output.stderr.isTTY !== true || output.quiet) return () => {}
  const stop = new AbortController()
  const read = async (): Promise<void> => {
    const ends = AbortSignal.any([signal, stop.signal])
    for await (const event of client.sessions.events({ session, live: true, after: 'now' }, { signal: ends }))
      if (event.type === 'call.progress' && event.callId === id) output.status('  ', progressBar(event.body))
  }
  void read().catch(() => {}) // progress is a courtesy; the call itself reports what is wrong
  return () => stop.abort()
}

const waitTexts: Readonly<Record<string, string>> = { approval: 'an approval', question: 'an answer' }

async function show(result: Result, client: Client, session: string, output: Output, ms: number): Promise<void> {
  const { status, name } = result
  switch (status) {
    case 'success':
      output.note(
        green('✓'),
        ' ',
        bold(name),
        dim(`  ${span(ms)}${result.attempts > 1 ? `, ${result.attempts} attempts` : ''}`),
      )
      output.block(indented(result.value), '')
      return
    case 'waiting': {
      output.note(yellow('●'), ' ', bold(name), ` waits for ${waitTexts[result.for] ?? result.for}`)
      const items = await client.inbox.list({ session })
      for (const item of items.filter(({ callId }) => callId === result.callId)) {
        output.note('  ', item.question?.text ?? item.preview.summary)
        output.note(dim(`  ${hintFor(item)}`))
      }
      return
    }
    case 'running':
      output.note(yellow('●'), ' ', bold(name), ' is recorded and not ended yet.')
      output.note(dim('  A worker runs it: `pawl serve` or `pawl worker`.'))
      return
    default: {
      const [first = '', ...rest] = problemOf(result).split('\n')
      output.problem(red('✗'), ' ', bold(name), '  ', first)
      for (const line of rest) output.problem('  ', line)
    }
  }
}
