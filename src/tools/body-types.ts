// Types that flow from the schemas of a tool into its body, and from the body into outcomes. Used by tool().

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Json, Recorded } from '../core/tool-value.ts'
import type { AskedQuestion, Later, QuestionAnswer } from './context/tool-context.ts'
import type { RequiredConnection, ToolResult } from './result.ts'
import type { TypedSchema } from './schema.ts'

/**
 * The type the body receives: the schema's output in its recorded form, the same on the first run and on every replay.
 */
export type InputOf<S> =
  S extends StandardSchemaV1<infer Input, infer Output>
    ? IfObject<Input, Recorded<Output>>
    : S extends TypedSchema<infer T>
      ? IfObject<T, Recorded<T>>
      : { [key: string]: Json }

/** Schemas whose type is not known (`any`, `unknown`) pass; tool() checks them when it runs. */
type IfObject<Input, Received> = unknown extends Input
  ? Received
  : [Extract<Input, object>] extends [never]
    ? InputSchemaAcceptsNoObject
    : Received

/**
 * What a body gets whose `input` schema accepts no object, such as z.string(): a type that it cannot use. The schema
 * itself cannot be refused by a type, because then no helper could pass a schema of a generic type to tool().
 */
interface InputSchemaAcceptsNoObject {
  readonly error: 'Models send objects: write z.object({ … })'
}

/** The type that a schema returns for a valid value. */
export type SchemaOutput<S> =
  S extends StandardSchemaV1<unknown, infer Output> ? Output : S extends TypedSchema<infer T> ? T : Json

/** The type a caller of the tool may pass. */
export type CallerInputOf<S> =
  S extends StandardSchemaV1<infer Input, unknown>
    ? Input
    : S extends TypedSchema<infer T>
      ? T
      : { [key: string]: Json }

/** The type of the outcome's value: the return type of `execute`, unwrapped and recorded. */
export type OutputOf<R> = [R] extends [void | undefined]
  ? null
  : R extends Later<infer T>
    ? Recorded<T>
    : R extends AskedQuestion
      ? QuestionAnswer
      : R extends RequiredConnection
        ? { connection_required: string }
        : R extends ToolResult<infer T>
          ? Recorded<T>
          : R extends undefined
            ? null
            : Recorded<R>

/**
 * Types whose recorded form is T: T itself, a value with `toJSON`, undefined for null. A literal type accepts its
 * primitive, because TypeScript widens the literals that a body returns; the schema still checks the value.
 */
type RecordsAs<T> =
  | { toJSON(): T }
  | (T extends string
      ? string
      : T extends number
        ? number
        : T extends boolean
          ? boolean
          : T extends null
            ? null | undefined | void
            : T extends object
              ? { readonly [K in keyof T]: RecordsAs<T[K]> }
              : T)

/** What a body may return: values that a typed `output` schema accepts, anything without one. */
export type Returned<O> =
  O extends StandardSchemaV1<infer T, unknown>
    ? BodyResult<T>
    : O extends TypedSchema<infer T>
      ? BodyResult<T>
      : unknown

/** The type argument of a `later` is only asserted by the body, so it is not compared. */
type BodyResult<T> = unknown extends T
  ? unknown
  : MaybePromise<RecordsAs<T> | ToolResult<RecordsAs<T>> | Later<unknown> | AskedQuestion | RequiredConnection>
