// A process that rewrites one file again and again, each version a single repeated letter, until it is killed.

import { openFiles } from '../../../src/storage/files/session-files.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const { file, folder, name } = JSON.parse(process.env.PAWL_WRITES ?? '{}') as {
  file: string
  folder?: string
  name: string
}
const store = sqliteStore({ file, clock: systemClock, commit: 'process' })
let ids = 0
// Ahead of the killed writers, so that their locks have expired.
const clock = { ...systemClock, now: () => systemClock.now() + Number(name) * 60_000 }
const files = openFiles({
  store,
  clock,
  ids: { next: () => `${name}-${++ids}` },
  of: { tenant: 't', session: 's' },
  ...(folder === undefined ? {} : { folder }),
})
for (let n = 0; ; n++) {
  await files.write(`dir/${name}/file`, 'abcdefghij'.charAt(n % 10).repeat(300_000))
  process.send?.(n)
}
