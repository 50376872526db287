// Ends a thread whose last answer is on its way, and says when that is done. Nothing else keeps this program alive.

import { Thread } from '../../src/store/worker-thread.ts'

const answering = `
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', ({ id }) => parentPort.postMessage({ id }))
  parentPort.postMessage('ready')`
const thread = new Thread(new URL(`data:text/javascript,${encodeURIComponent(answering)}`), null)
await thread.start()
thread.ask({ do: 'something' }).catch(() => {})
// It has answered before this thread hears of it.
for (const until = performance.now() + 200; performance.now() < until;);
await thread.end()
console.log('ended')
