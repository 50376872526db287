// Ends a thread whose last answer is still in flight, then prints 'ended'. Nothing else keeps this process alive.

import { Thread } from '../../src/store/worker-thread.ts'

const answering = `
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', ({ id }) => parentPort.postMessage({ id }))
  parentPort.postMessage('ready')`
const thread = new Thread(new URL(`data:text/javascript,${encodeURIComponent(answering)}`), null)
await thread.start()
thread.ask({ do: 'something' }).catch(() => {})
// Blocks the event loop, so that the thread has answered but the answer is not yet received.
for (const until = performance.now() + 200; performance.now() < until;);
await thread.end()
console.log('ended')
