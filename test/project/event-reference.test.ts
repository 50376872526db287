// docs/reference/events.md is made from the types of the events and their comments.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const page = join(root, 'docs/reference/events.md')

interface EventRow {
  readonly type: string
  readonly body: string
  readonly comment: string
}

/** The members of an interface whose names are event types, with their comments. */
function rowsOf(file: string, name: string): EventRow[] {
  const source = readFileSync(join(root, file), 'utf8')
  const start = source.indexOf(`export interface ${name} {`)
  const text = source.slice(start, source.indexOf('\n}\n', start))
  const member = /(?:\n {2}\/\*\*((?:(?!\*\/)[^])*)\*\/)?\n {2}'([\w.]+)':((?:(?!\n {2}(?:\/\*\*|'))[^])*)/g
  return [...text.matchAll(member)].map(([, comment = '', type = '', body = '']) => ({
    type,
    comment: comment.replace(/\s*\n\s*\*\s?/g, ' ').trim(),
    body: body
      .replace(/\/\*\*[^]*?\*\//g, '')
      .replace(/\breadonly /g, '')
      .replace(/(?<!\{)\n\s+(?=\w+\??: )/g, '; ')
      .replace(/\s+/g, ' ')
      .replace(/^ ?\| /, '')
      .trim(),
  }))
}

const table = (rows: readonly EventRow[]): string[] => [
  '| type | body | |',
  '|---|---|---|',
  ...rows.map(({ type, body, comment }) => `| \`${type}\` | \`${body.replaceAll('|', '\\|')}\` | ${comment} |`),
]

test('FEED-1 FEED-2: docs/reference/events.md shows every event (PAWL_WRITE=1 writes it)', () => {
  const recorded = rowsOf('src/store/records/event.ts', 'EventBodies')
  const turns = rowsOf('src/feed/turn-events.ts', 'TurnEventBodies')
  const live = rowsOf('src/feed/live-events.ts', 'LiveBodies')
  expect(recorded.length).toBeGreaterThan(45)
  expect([turns.length, live.length]).toEqual([3, 4])
  const text = [
    '# Events',
    '',
    'Every event has `type`, `tenant`, `session`, `call` (the uid of the call that it is about), `at` and `body`. Recorded',
    'events also have `position`, `seq` and `cursor`. The [feed](../guide/feed.md) explains how to read them; a server',
    'sends them as [server-sent events](../guide/server.md#streams).',
    '',
    '## Recorded',
    '',
    ...table(recorded),
    '',
    '## Turns',
    '',
    'Shown instead of the events of the call that a turn is.',
    '',
    ...table(turns),
    '',
    '## Live',
    '',
    'Sent to readers with `live`, and not recorded.',
    '',
    ...table(live),
    '',
  ].join('\n')
  if (process.env.PAWL_WRITE) writeFileSync(page, text)
  expect(readFileSync(page, 'utf8')).toBe(text)
})
