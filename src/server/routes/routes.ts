// The route table: a row for every operation of endpoints.ts.

import type { z } from 'zod'
import type { OperationName } from '../endpoints.ts'
import { background } from './background.ts'
import { calls } from './calls.ts'
import { data } from './data.ts'
import { people } from './people.ts'
import type { Route } from './route.ts'
import { sessions } from './sessions.ts'
import { store } from './store.ts'
import { turns } from './turns.ts'

export const routes = {
  ...sessions,
  ...calls,
  ...turns,
  ...people,
  ...background,
  ...data,
  ...store,
} satisfies Record<OperationName, Route>

type Routes = typeof routes

/** The input of an operation, after validation. */
export type Input<N extends OperationName> = z.output<Routes[N]['input']>
/** The result of an operation. */
export type Output<N extends OperationName> = z.output<Routes[N]['output']>
