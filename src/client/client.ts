// The public API of `pawl/client`: a typed client of a Pawl server for browsers, Node and edge runtimes.

import { systemClock } from '../core/clock.ts'
import { buildClient } from './build-client.ts'
import type { ClientOptions } from './client-options.ts'
import type { Client } from './client-types.ts'

export type { ClientOptions } from './client-options.ts'
export type { Client, FeedReset, RequestOptions, StreamEvent } from './client-types.ts'
export { PawlHttpError } from './http-error.ts'

const random = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] as number) / 2 ** 32

/**
 * A client of a Pawl server. Its methods are the operations of the server, in groups.
 *
 * @example
 * const client = createClient({ url: 'http://127.0.0.1:7717', token: process.env.PAWL_TOKEN })
 * const outcome = await client.calls.run({ session: 'chat-42', name: 'refund', input: { order: 'A1' } })
 * for await (const event of client.sessions.events({ session: 'chat-42' })) console.log(event.type)
 */
export const createClient = (options: ClientOptions): Client => buildClient(options, { clock: systemClock, random })
