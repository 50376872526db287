// A worker on a SQLite store that a test kills in the middle of a call. It says when it is there.

import { createRuntime } from 'pawl'
import { deskTools } from './desk-tools.ts'

const [store = '', name = ''] = process.argv.slice(2)
const runtime = await createRuntime({
  store,
  tools: deskTools(() => process.send?.('there')),
  lease: '1s',
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})
const session = runtime.session('chat-ada', { principal: 'user:ada' })
await session.run([{ id: name, name, input: { customer: 'ada' } }])
