// The methods of the client have the types of the route table.

import type { CallOutcome, OpenCall } from 'pawl'
import { type Client, createClient, type StreamEvent } from 'pawl/client'
import { expectTypeOf, test } from 'vitest'

const client = createClient({ url: '/' })

test('inputs and outputs are those of the operations', () => {
  expectTypeOf(client).toEqualTypeOf<Client>()
  expectTypeOf(client.calls.run).returns.resolves.toEqualTypeOf<CallOutcome | OpenCall>()
  expectTypeOf(client.files.read).returns.resolves.toEqualTypeOf<Response>()
  expectTypeOf(client.sessions.events).returns.toEqualTypeOf<AsyncIterable<StreamEvent>>()
  void (() => client.tools.list())
  void (() => client.events.stream({ live: true }))
})

test('mistakes do not compile', () => {
  // @ts-expect-error -- `name` is missing
  void (() => client.calls.run({ session: 's' }))
  // @ts-expect-error -- no such field
  void (() => client.calls.run({ session: 's', name: 'n', idempotencykey: 'k' }))
  // @ts-expect-error -- the session is missing
  void (() => client.sessions.events())
  // @ts-expect-error -- the bytes are missing
  void (() => client.files.write({ session: 's', path: 'p' }))
  // @ts-expect-error -- no such operation
  void (() => client.calls.retry)
  // @ts-expect-error -- no such option
  void (() => createClient({ url: '/', tokn: 'x' }))
})
