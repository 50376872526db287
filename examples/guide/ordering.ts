// The code of docs/guide/ordering.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'

const seen: string[] = []
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))
async function work(what: string): Promise<void> {
  seen.push(`${what} starts`)
  await pause()
  seen.push(`${what} ends`)
}

// #region tools
const input = z.object({ file: z.string() })
const read = tool({
  name: 'read',
  description: 'Read a file',
  input,
  hints: { readOnly: true }, // parallel
  execute: ({ file }) => work(`read ${file}`),
})
const write = tool({
  name: 'write',
  description: 'Write a file',
  input, // nothing said: a barrier
  execute: ({ file }) => work(`write ${file}`),
})
const format = tool({
  name: 'format',
  description: 'Format a file',
  input,
  concurrency: { key: ({ file }) => file }, // one at a time per file
  execute: ({ file }) => work(`format ${file}`),
})
const deploy = tool({
  name: 'deploy',
  description: 'Deploy',
  input: z.object({}),
  concurrency: 'exclusive', // a barrier, and one at a time in its session
  execute: () => work('deploy'),
})
// #endregion

const runtime = await createRuntime({ store: 'memory:', tools: [read, write, format, deploy] })
const session = runtime.session('chat-42')

// #region barrier
await session.run([
  { id: '1', name: 'read', input: { file: 'a' } },
  { id: '2', name: 'read', input: { file: 'b' } },
  { id: '3', name: 'write', input: { file: 'a' } },
  { id: '4', name: 'read', input: { file: 'a' } },
])
assert.deepEqual(seen.splice(0), [
  'read a starts',
  'read b starts',
  'read a ends',
  'read b ends',
  'write a starts',
  'write a ends',
  'read a starts',
  'read a ends',
])
// #endregion

// #region keys
await session.run([
  { id: '5', name: 'format', input: { file: 'a' } },
  { id: '6', name: 'format', input: { file: 'a' } },
  { id: '7', name: 'format', input: { file: 'b' } },
])
const firstEnd = seen.findIndex((each) => each.endsWith('ends'))
assert.deepEqual(seen.slice(0, firstEnd), ['format a starts', 'format b starts']) // the second 'a' waits
// #endregion
seen.length = 0

// #region batches
await Promise.all([
  session.run([{ id: '1', name: 'deploy' }], { batch: 'msg_8' }),
  session.run([{ id: '1', name: 'deploy' }], { batch: 'msg_9' }),
])
assert.deepEqual(seen.splice(0), ['deploy starts', 'deploy ends', 'deploy starts', 'deploy ends'])
// #endregion
await runtime.close()

// #region limits
const limited = await createRuntime({
  store: 'memory:',
  tools: [read, write, format, deploy],
  limits: { perWorker: 64, perSession: 2, perTool: 8, waiting: 1000, rate: { perTenant: { count: 100, per: '1s' } } },
})
await limited.session('s').run(['a', 'b', 'c'].map((file) => ({ id: file, name: 'read', input: { file } })))
assert.deepEqual(seen.slice(0, 3), ['read a starts', 'read b starts', 'read a ends']) // two at once; 'c' waits
// #endregion
await limited.close()
