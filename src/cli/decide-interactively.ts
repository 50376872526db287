// Walks a person through open items in a terminal: shows each and asks for one key. Loads the prompts of @clack.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { confirm, isCancel, password, selectKey, text } from '@clack/prompts'
import type { Client } from '../client/client-types.ts'
import { PawlError } from '../core/errors.ts'
import type { Json } from '../core/tool-value.ts'
import type { InboxItem } from '../index.ts'
import type { Cli } from './cli.ts'
import { CliError, type ExitCode, exitCodes } from './exit-codes.ts'
import { count } from './output/format.ts'
import { bold, dim, red } from './output/output.ts'
import { answerOf } from './read-arguments.ts'
import { type Decision, showAnswer } from './show-answer.ts'
import { showItem } from './show-item.ts'

type Key = 'a' | 'e' | 'd' | 's' | 'q' | 'r'

/** The person pressed Ctrl-C. */
const interrupted = (): CliError => new CliError(exitCodes.interrupted, 'Interrupted.')

export async function decideInteractively(
  cli: Cli,
  client: Client,
  items: readonly InboxItem[],
): Promise<ExitCode | void> {
  const { output } = cli
  let decided = 0
  for (const [index, item] of items.entries()) {
    output.note()
    if (items.length > 1) output.note(dim(`── ${index + 1} of ${items.length} ${'─'.repeat(40)}`))
    if (items.length > 1) output.note()
    showItem(item, output, 'note')
    output.note()
    const end = await decideOne(cli, client, item)
    if (end === 'quit') break
    if (end === 'decided') decided += 1
  }
  if (items.length === 1) return
  output.note()
  output.note(dim(`${count(decided, 'decision')}; ${items.length - decided} left.`))
}

export async function decideOne(cli: Cli, client: Client, item: InboxItem): Promise<'decided' | 'skipped' | 'quit'> {
  for (;;) {
    const key = await askKey(cli, item)
    if (key === 'q') return 'quit'
    if (key === 's') return 'skipped'
    const decision = await decisionFor(key, cli, item)
    if (decision === null) continue
    try {
      const answered = await client.inbox.decide({ item: item.id, ...decision, fingerprint: item.fingerprint })
      showAnswer(answered, item, cli.output)
      if (answered.answer !== 'invalid') return answered.answer === 'accepted' ? 'decided' : 'skipped'
    } catch (error) {
      // The next item may still be decided here.
      if (!(error instanceof PawlError)) throw error
      cli.output.problem(red('✗ '), error.message)
    }
  }
}

async function askKey({ signal }: Cli, { kind, verbs }: InboxItem): Promise<Key> {
  const can = (verb: InboxItem['verbs'][number]): boolean => verbs.includes(verb)
  const options: { value: Key; label: string }[] = [
    ...(can('answer') && kind === 'question' ? [{ value: 'r' as const, label: 'answer' }] : []),
    ...(can('approve') ? [{ value: 'a' as const, label: 'approve' }] : []),
    ...(can('edit') ? [{ value: 'e' as const, label: 'edit the arguments, then approve' }] : []),
    ...(can('deny') ? [{ value: 'd' as const, label: 'deny' }] : []),
    ...(can('answer') && kind !== 'question' ? [{ value: 'r' as const, label: 'give the result yourself' }] : []),
    { value: 's', label: 'skip' },
    { value: 'q', label: 'quit' },
  ]
  return ask(selectKey({ message: 'Your decision?', options, ...streams(signal) }))
}

async function decisionFor(key: Exclude<Key, 'q' | 's'>, cli: Cli, item: InboxItem): Promise<Decision | null> {
  const { signal } = cli
  switch (key) {
    case 'a':
      return { approve: true }
    case 'd': {
      const reason = await ask(
        text({ message: 'Why? The model reads it. Enter leaves it out.', defaultValue: '', ...streams(signal) }),
      )
      return { deny: true, ...(reason === '' ? {} : { reason }) }
    }
    case 'r': {
      const message = item.kind === 'question' ? 'Your answer' : 'The result, as text or JSON'
      const isSecret = item.question?.kind === 'secret'
      const answer = await ask((isSecret ? password : text)({ message, ...streams(signal) }))
      return answer === undefined || answer === '' ? null : { answer: answerOf(answer, item) }
    }
    default: {
      const edit = await edited(cli, item.args)
      return edit === null ? null : { edit }
    }
  }
}

/** The arguments after the person changed them in an editor; null if they are unchanged or the person gave up. */
async function edited({ output, signal }: Cli, args: Json): Promise<Json | null> {
  const before = `${JSON.stringify(args, null, 2)}\n`
  const folder = mkdtempSync(join(tmpdir(), 'pawl-edit-'))
  const file = join(folder, 'arguments.json')
  try {
    // Only this user may read the arguments.
    writeFileSync(file, before, { mode: 0o600 })
    for (;;) {
      const [command = 'vi', ...rest] = (process.env.VISUAL || process.env.EDITOR || defaultEditor).split(' ')
      const { error, status } = spawnSync(command, [...rest, file], { stdio: 'inherit' })
      if (error || status !== 0) {
        output.problem(red('✗ '), `The editor ${command} ended without success; set EDITOR. Nothing was decided.`)
        return null
      }
      const after = readFileSync(file, 'utf8')
      if (after === before) {
        output.note(dim('Unchanged; nothing was decided.'))
        return null
      }
      try {
        const value = JSON.parse(after) as Json
        output.note(bold('Changed arguments:'))
        output.noteBlock(JSON.stringify(value, null, 2), dim('  │ '))
        return (await ask(confirm({ message: 'Approve with these arguments?', ...streams(signal) }))) ? value : null
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        output.problem(red('✗ '), `This is no JSON: ${error.message}`)
        if (!(await ask(confirm({ message: 'Edit again?', ...streams(signal) })))) return null
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const defaultEditor = process.platform === 'win32' ? 'notepad' : 'vi'

const streams = (signal: AbortSignal) => ({ output: process.stderr, signal })

async function ask<T>(question: Promise<T>): Promise<Exclude<T, symbol>> {
  const answer = await question
  if (isCancel(answer)) throw interrupted()
  return answer as Exclude<T, symbol>
}
