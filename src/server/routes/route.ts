// One row of the route table: what an operation needs, takes and gives. Method and path are in endpoints.ts, the
// implementation in operations/.

import { z } from 'zod'
import type { Permission } from '../permissions.ts'

/**
 * `json`: JSON in and out. `events`: server-sent events. `chat`: a stream in the protocol of the AI SDK. `download` and
 * `upload`: bytes.
 */
export type RouteKind = 'json' | 'events' | 'chat' | 'download' | 'upload'

export interface Route<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  /** The right that a token needs; `anyone`: no token, because the request carries a secret of its own. */
  readonly needs: Permission | 'anyone'
  /** One sentence for the OpenAPI document and the docs. */
  readonly summary: string
  /** One flat object: the parameters of the path, and of the query (GET, DELETE) or the body (POST, PUT). */
  readonly input: I
  readonly output: O
  readonly kind: RouteKind
  /** It is about the whole store, so a token of one tenant has no right to it. */
  readonly wholeStore: boolean
  /** The `Idempotency-Key` header sets this field, unless the body does. */
  readonly idempotencyField?: string
}

type RouteTerms<I extends z.ZodType, O extends z.ZodType> = Pick<
  Route<I, O>,
  'needs' | 'summary' | 'input' | 'output'
> &
  Partial<Pick<Route, 'kind' | 'wholeStore' | 'idempotencyField'>>

export const route = <I extends z.ZodType, O extends z.ZodType>(terms: RouteTerms<I, O>): Route<I, O> => ({
  kind: 'json',
  wholeStore: false,
  ...terms,
})

/** The response of routes whose body is not JSON. */
export const noJson = z.never()
