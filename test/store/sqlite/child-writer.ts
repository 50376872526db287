// Opens a SQLite store, commits a group through the writer thread and prints the result. Closes the store only on
// request; otherwise nothing may keep the process alive. The store module is loaded from an argument, so that the
// built package is tested too.

import { Worker } from 'node:worker_threads'
import type * as Time from '../../../src/core/clock.ts'
import type * as Sqlite from '../../../src/store/sqlite/sqlite-store.ts'

const [from, file, close] = process.argv.slice(2) as [string, string, string?]
const ending = from.endsWith('src') ? 'ts' : 'js'
const { sqliteStore } = (await import(`${from}/store/sqlite/sqlite-store.${ending}`)) as typeof Sqlite
const { systemClock } = (await import(`${from}/core/clock.${ending}`)) as typeof Time

const asked = new Set<Worker>()
const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (...args) {
  asked.add(this)
  return post.apply(this, args)
}
const store = sqliteStore({ file, clock: systemClock, commit: 'power', writer: 'thread' })
const event = { type: 'call.started', tenant: 't', session: 's', call: 'c', body: { attempt: 1 } } as const
const answers = await Promise.all([1, 2, 3].map((at) => store.commit({ guards: [], events: [{ ...event, at }] })))
const events = (await store.events({ after: 0, limit: 10 })).length
if (close) await store.close()
console.log(JSON.stringify({ answers, threads: asked.size, events }))
