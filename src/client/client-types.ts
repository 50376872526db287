// The methods of the client, derived from the route table: `calls.run` is `client.calls.run(input)`. The CLI implements
// the same interface on a local store.

import type { FeedEvent, LiveEvent } from '../index.ts'
import type { OperationName } from '../server/endpoints.ts'
import type { Input, Output } from '../server/routes/routes.ts'

/** Options of every method. */
export interface RequestOptions {
  /** Ends the request. What it started goes on. */
  readonly signal?: AbortSignal
}

/** The reader's cursor was too old or not known: discard what was read; the events follow from the beginning. */
export interface FeedReset {
  /** Not the type of any recorded or live event. */
  readonly type: 'reset'
  /** Distinguishes it from events. */
  readonly reset: true
  /** Why the cursor does not work. */
  readonly code: string
}

/** An event as a stream of the client gives it. */
export type StreamEvent = FeedEvent | LiveEvent | FeedReset

type Raw = 'turns.stream' | 'chat.send' | 'chat.resume' | 'sessions.export' | 'files.read' | 'attachments.read'

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- an input may be left out if it may be empty
type NoFields = Record<never, never>

type Method<N extends OperationName> = N extends 'events.stream'
  ? (input?: Input<N>, options?: RequestOptions) => AsyncIterable<StreamEvent>
  : N extends 'sessions.events'
    ? (input: Input<N>, options?: RequestOptions) => AsyncIterable<StreamEvent>
    : N extends Raw
      ? (input: Input<N>, options?: RequestOptions) => Promise<Response>
      : N extends 'files.write'
        ? (input: Input<N> & { readonly body: Uint8Array | string }, options?: RequestOptions) => Promise<Output<N>>
        : NoFields extends Input<N>
          ? (input?: Input<N>, options?: RequestOptions) => Promise<Output<N>>
          : (input: Input<N>, options?: RequestOptions) => Promise<Output<N>>

type Group = OperationName extends `${infer G}.${string}` ? G : never
type GroupMethods<G extends Group> = {
  readonly [N in OperationName as N extends `${G}.${infer M}` ? M : never]: Method<N>
}

/** The operations of a server as methods, in groups. */
export type Client = { readonly [G in Group]: GroupMethods<G> }
