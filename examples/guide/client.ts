// The code of docs/guide/client.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
// #region start
import { createRuntime, tool } from 'pawl'
import { createClient } from 'pawl/client'
import { startServer } from 'pawl/server'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: z.object({ order: z.string() }),
  hints: { destructive: true },
  execute: ({ order }) => `${order} is refunded`,
})
const runtime = await createRuntime({
  store: 'memory:',
  tools: [refund],
  policy: { rules: [{ tool: 'refund', then: 'ask' }] },
})
const server = await startServer({ runtime, port: 0 })

const client = createClient({ url: server.url, token: server.token ?? '' })
const call = await client.calls.run({ session: 'chat-42', name: 'refund', input: { order: 'A1' } })
console.log(call.status) // 'waiting': a person decides first
const [item] = await client.inbox.list({ session: 'chat-42' })
if (item) console.log(await client.inbox.decide({ item: item.id, approve: true, fingerprint: item.fingerprint }))
// #endregion
assert.equal(call.status, 'waiting')

// #region events
for await (const event of client.sessions.events({ session: 'chat-42', live: true })) {
  if (event.type === 'reset') continue // the cursor was too old: discard what you show; the events begin anew
  if (event.type === 'call.settled') {
    assert.equal(event.tool, 'refund')
    break // closes the connection
  }
}
// #endregion

// #region error
import { PawlHttpError } from 'pawl/client'

try {
  await client.calls.get({ session: 'chat-42', call: 'unknown' })
} catch (error) {
  if (!(error instanceof PawlHttpError)) throw error
  assert.deepEqual([error.code, error.status], ['not_found', 404])
}
// #endregion

// #region files
await client.files.write({ session: 'chat-42', path: 'notes/today.md', body: '# Today', mediaType: 'text/markdown' })
const response = await client.files.read({ session: 'chat-42', path: 'notes/today.md' })
assert.equal(await response.text(), '# Today')
// #endregion

await server.close()
