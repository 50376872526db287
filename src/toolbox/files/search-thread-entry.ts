// Entry point of the search thread. search-in-thread.ts starts it and kills it when a pattern takes too long.

import { type MessagePort, parentPort } from 'node:worker_threads'
import { search, type SearchQuestion } from './search-lines.ts'

const port = parentPort as MessagePort

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
port.on('message', (question: SearchQuestion) => port.postMessage(search(question)))
// oxlint-disable-next-line unicorn/require-post-message-target-origin
port.postMessage('ready')
