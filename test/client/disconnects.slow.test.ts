// Streams over connections that are cut, and servers that restart, with 50 seeds, or 500 with `npm run test:long`.

import { test } from 'vitest'
import { long } from '../kit/long-run.ts'
import { noGapAndNoRepeat } from './disconnect-readers.ts'

test('FEED-1 FEED-2 DOOR-1: no gap and no repeat over many disconnects and restarts', { timeout: 900_000 }, () =>
  noGapAndNoRepeat(long ? 500 : 50),
)
