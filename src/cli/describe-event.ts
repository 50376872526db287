// One line per event for `pawl tail`: a sign, the type in its colour, and what it says.

import type { FeedEvent, LiveEvent } from '../index.ts'
import { inline, problemOf, timeOf } from './output/format.ts'
import { blue, bold, cyan, dim, green, magenta, type Piece, red, yellow } from './output/output.ts'
import { progressBar } from './progress-bar.ts'

const colours: readonly (readonly [RegExp, (text: string) => Piece])[] = [
  [
    /^(?:call\.cancelling|turn\.(?:failed|retracted)|decision\.refused|schedule\.missed|records\.)/,
    (text) => red(text),
  ],
  [/^(?:wait|decision|rule|notice)\./, (text) => yellow(text)],
  [/^(?:turn|message|agent)\./, (text) => magenta(text)],
  [/^(?:task|schedule|trigger)\./, (text) => blue(text)],
  [/^call\./, (text) => cyan(text)],
]

/** The type of an event in its colour. */
export function typeOf({ type }: { readonly type: string }): Piece {
  const text = type.padEnd(18)
  return colours.find(([pattern]) => pattern.test(type))?.[1](text) ?? dim(text)
}

/** The content of an event in words, without its time and type. */
export function describeEvent(event: FeedEvent | LiveEvent): Piece {
  if (event.live) return describeLive(event)
  const { body, tool, narration, headline, outcome } = event
  const name = tool === undefined ? '' : [bold(tool), ' ']
  const ended = outcome as (Parameters<typeof problemOf>[0] & { readonly value?: unknown }) | undefined
  if (event.type === 'call.settled' && ended)
    return ended.status === 'success'
      ? [green('✓ '), name, narration ?? dim(inline(ended.value))]
      : [red('✗ '), name, narration === undefined ? '' : `${narration}  `, dim(problemOf(ended))]
  if (event.type === 'turn.failed' && ended) return [red('✗ '), dim(problemOf(ended))]
  if (event.type === 'turn.ended') return green('✓')
  if (event.type === 'turn.answered') return headline ?? dim(fieldsOf(body))
  if (event.type === 'decision.made') {
    const { decision, by, door, reason } = event.body
    return [name, bold(decision), ` by ${by}`, dim(` (${door})`), reason === undefined ? '' : `: ${reason}`]
  }
  return [name, narration ?? dim(fieldsOf(body))]
}

function describeLive(event: LiveEvent): Piece {
  switch (event.type) {
    case 'call.progress':
      return progressBar(event.body)
    case 'call.output':
      return event.body.text.replace(/\n$/, '')
    case 'turn.retracted':
      return 'The answer broke off; the model is asked again.'
    default:
      return fieldsOf(event.body)
  }
}

/** Times among the fields of a body. */
const times: ReadonlySet<string> = new Set(['deadline', 'until', 'slot'])
/** Ids and details that say nothing to a person; `--jsonl` has them. */
const hidden: ReadonlySet<string> = new Set(['fingerprint', 'usage', 'wait', 'turn', 'tool', 'message', 'number'])

/** The body in short: `attempt 2  until 10:31:07`. */
function fieldsOf(body: object): string {
  return Object.entries(body)
    .filter(([name, value]) => value !== null && !hidden.has(name) && !(name === 'attempt' && value === 1))
    .map(([name, value]) => {
      if (times.has(name) && typeof value === 'number') return `${name} ${timeOf(value)}`
      return `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`
    })
    .join('  ')
}
