// A `Client` on a local store: it runs the operations of the server in this process, as a caller with all rights. So
// commands do not know whether they work on a server or on a file.

import type { Client, RequestOptions } from '../client/client-types.ts'
import { systemClock } from '../core/clock.ts'
import type { Runtime, StartTurn } from '../index.ts'
import { endpoints, type OperationName } from '../server/endpoints.ts'
import type { Download, OperationContext } from '../server/operations/context.ts'
import type { Caller } from '../server/permissions.ts'

export interface LocalClientOptions {
  readonly runtime: Runtime
  readonly tenant: string
  readonly principal: string
  readonly turnDefaults: Pick<StartTurn, 'model' | 'frame' | 'instructions'>
  /** Ends every request. */
  readonly signal: AbortSignal
}

const streams: ReadonlySet<string> = new Set<OperationName>(['events.stream', 'sessions.events'])
const responses: ReadonlySet<string> = new Set<OperationName>([
  'turns.stream',
  'chat.send',
  'chat.resume',
  'sessions.export',
  'files.read',
  'attachments.read',
])

export async function localClient(options: LocalClientOptions): Promise<Client> {
  const { runOperation } = await import('../server/operations/operations.ts')
  const { runtime, tenant, principal, turnDefaults } = options
  const caller: Caller = {
    tenant,
    principal,
    permissions: new Set(['read', 'call', 'decide', 'operate', 'admin']),
    wholeStore: true,
    door: 'cli',
  }
  const client: Record<string, Record<string, unknown>> = {}
  const contextOf = ({ signal }: RequestOptions = {}): OperationContext => ({
    runtime,
    caller,
    turnDefaults,
    clock: systemClock,
    signal: signal ? AbortSignal.any([signal, options.signal]) : options.signal,
  })
  for (const name of Object.keys(endpoints) as OperationName[]) {
    const [group = '', method = ''] = name.split('.')
    const run = (input: object = {}, how?: RequestOptions): Promise<unknown> =>
      runOperation(name, contextOf(how), input)
    const methods = (client[group] ??= {})
    if (streams.has(name)) methods[method] = (input?: object, how?: RequestOptions) => opened(run(input, how))
    else if (responses.has(name))
      methods[method] = async (input?: object, how?: RequestOptions) => toResponse(await run(input, how))
    else methods[method] = run
  }
  return client as unknown as Client
}

/** The events of a stream that is still being opened. */
async function* opened(stream: Promise<unknown>): AsyncGenerator<unknown, void, void> {
  yield* (await stream) as AsyncIterable<unknown>
}

function toResponse(given: unknown): Response {
  if (given instanceof Response) return given
  const { body, mediaType, etag } = given as Download
  const isBytes = typeof body === 'string' || body instanceof Uint8Array
  const content = isBytes ? (body as string) : ReadableStream.from(encoded(body))
  return new Response(content, { headers: { 'content-type': mediaType, ...(etag === undefined ? {} : { etag }) } })
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder()
  for await (const text of texts) yield encoder.encode(text)
}
