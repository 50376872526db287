// `npm start`, approved with the request that curl sends or with a signed link, and where it opens no browser.

import { test } from 'vitest'
import { hasTerminal } from '../kit/run-pawl.ts'
import { approvedBy, opensNoBrowser, timeout, ways } from './play-serve-demo.ts'

// The demo mostly waits, so these tests run at the same time.
test.concurrent.each(['the request that curl sends', 'a signed link'] as const)(
  'DOOR-1 DOOR-2 DOOR-5: npm start, approved with %s',
  { timeout },
  (name) => approvedBy(ways[name]),
)

test.skipIf(!hasTerminal).concurrent.each<[string, Record<string, string>, string[]]>([
  ['over SSH', { SSH_CONNECTION: '1' }, []],
  ['with --no-open', {}, ['--no-open']],
])('DOOR-5: the demo opens no browser %s', { timeout }, (_, extra, flags) => opensNoBrowser(extra, flags))
