// The worker process of `pawl serve --demo`. It runs the calls of the desk until the server ends, and kills itself once
// while it pays a refund; see kill-points.ts.

import { createRuntime, jsonLogger } from '../../index.ts'
import { loggerOf } from '../open-store.ts'
import { Output } from '../output/output.ts'
import { deskParts } from './serve-desk.ts'
import type { ServeWorkerStart } from './supervise-workers.ts'

// The server stops the worker. Ctrl-C in a terminal reaches both processes at once.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => {})

const started = Promise.withResolvers<ServeWorkerStart | null>()
const stopped = Promise.withResolvers<void>()
const stop = (): void => {
  started.resolve(null)
  stopped.resolve()
}
// One listener for all messages: two of them may arrive at once.
process.on('message', (message: ServeWorkerStart | 'stop') => (message === 'stop' ? stop() : started.resolve(message)))
// Without the server nothing could stop this process.
process.once('disconnect', stop)
if (!process.connected) stop()

const start = await started.promise
if (!start) process.exit()
const { store, keys, grace, log, quiet } = start
const runtime = await createRuntime({
  ...(await deskParts()),
  store,
  ...(keys === null ? {} : { keys }),
  lease: '2s',
  logger: log === 'json' ? jsonLogger() : loggerOf(new Output({ format: 'human', quiet })),
})
await stopped.promise
await runtime.close({ grace })
process.exit()
