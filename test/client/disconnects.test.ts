// Streams over connections that are cut, and servers that restart. The slow tier has more seeds.

import { test } from 'vitest'
import { noGapAndNoRepeat } from './disconnect-readers.ts'

test('FEED-1 FEED-2 DOOR-1: no gap and no repeat over disconnects and restarts', { timeout: 900_000 }, () =>
  noGapAndNoRepeat(10),
)
