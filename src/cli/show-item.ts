// Shows an inbox item to the person who decides it: the arguments that would run, why it asks, and when it expires.

import type { InboxItem } from '../index.ts'
import { indented, relativeTime, timeWithDistance } from './output/format.ts'
import { bold, cyan, dim, type Output, type Piece, red, yellow } from './output/output.ts'

const marks: Readonly<Record<InboxItem['kind'], (text: string) => Piece>> = {
  approval: (text) => yellow(text),
  question: (text) => cyan(text),
  connection: (text) => cyan(text),
  finding: (text) => red(text),
}

/** A newer server may have kinds that are not known here. */
export const kindOf = (kind: string): Piece =>
  Object.hasOwn(marks, kind) ? marks[kind as keyof typeof marks](kind) : kind

/** `put` prints a line: on stdout as a result, on stderr before a question. */
export function showItem(item: InboxItem, output: Output, put: 'line' | 'note' = 'line'): void {
  const line = (...pieces: Piece[]): void => output[put](...pieces)
  const block = (text: string): void =>
    put === 'line' ? output.block(text, dim('  │ ')) : output.noteBlock(text, dim('  │ '))
  line(kindOf(item.kind), '  ', bold(item.title === item.tool ? item.tool : `${item.title} (${item.tool})`))
  line(dim(item.id))
  line()
  if (item.question) block(item.question.text)
  if (item.preview.summary !== '' && item.preview.summary !== item.question?.text) block(item.preview.summary)
  if (item.preview.details !== undefined) block(item.preview.details)
  const field = (name: string, value: Piece): void => line('  ', dim(name.padEnd(10)), value)
  const args = indented(item.args)
  if (args !== '{}' && args !== 'null') {
    line('  ', dim('arguments'))
    block(args)
  }
  line()
  if (item.question) for (const [name, value] of Object.entries(item.question)) questionField(name, value, field)
  if (item.provider !== undefined) field('provider', item.provider)
  field('why', item.reason)
  field('effect', item.effect)
  field('session', item.principal === null ? item.session : `${item.session}, for ${item.principal}`)
  field('asked', timeWithDistance(item.askedAt))
  field('expires', timeWithDistance(item.expiresAt))
  if (item.quorum > 1) field('approvals', `${item.approvals.length} of ${item.quorum}`)
  for (const { by, door, at, reason } of item.approvals)
    field('', `${by} (${door}) ${relativeTime(at)}${reason === undefined ? '' : `: ${reason}`}`)
  if (item.separate) field('', 'The principal of the call may not approve it.')
  if (item.interrupted)
    field(
      'attempt',
      `${item.interrupted.attempt}, begun ${relativeTime(item.interrupted.startedAt)}; its end is not known`,
    )
}

function questionField(name: string, value: unknown, field: (name: string, value: Piece) => void): void {
  if (name === 'text' || value === undefined) return
  field(name, typeof value === 'string' ? value : JSON.stringify(value))
}
