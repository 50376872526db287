// A process that increments a counter in one file by compare-and-set and reports how often it lost the race.

import { openFiles } from '../../../src/storage/files/session-files.ts'
import { PawlError } from '../../../src/core/errors.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const { file, folder, times, name } = JSON.parse(process.env.PAWL_COUNT ?? '{}') as {
  file: string
  folder?: string
  times: number
  name: string
}
const store = sqliteStore({ file, clock: systemClock, commit: 'process' })
let ids = 0
const files = openFiles({
  store,
  clock: systemClock,
  ids: { next: () => `${name}-${++ids}` },
  of: { tenant: 't', session: 's' },
  quotas: { files: 12 },
  ...(folder === undefined ? {} : { folder }),
})

// Waits for the start message, so that all processes begin together.
await new Promise((resolve) => {
  process.once('message', resolve)
  process.send?.('ready')
})
let refused = 0
for (let done = 0; done < times;) {
  const { text, stat } = await files.read('count')
  try {
    await files.write('count', String(Number(text) + 1), { ifHash: stat.hash })
    done++
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'file_changed') throw error
    refused++
  }
}
let made = 0
for (let n = 0; n < 10; n++) {
  try {
    await files.write(`${name}-${n}`, 'x')
    made++
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'files_full') throw error
  }
}
process.send?.({ refused, made })
await store.close()
process.disconnect()
