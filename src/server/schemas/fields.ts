// Schemas that several routes share.

import { z } from 'zod'
import { isName } from '../../core/ids.ts'
import { parseDuration } from '../../core/duration.ts'
import type { Duration } from '../../core/duration.ts'
import type { Json } from '../../core/tool-value.ts'

const forbidden = 'must not contain a NUL character or half of a surrogate pair'
const isPlainText = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** An id or a name, as the stores can hold it. */
export const name = z.string().min(1).max(512).refine(isName, forbidden)
/** A text for people or models. Its size is limited by the request body. */
export const text = z.string().refine(isPlainText, forbidden)
/** A reason, as decisions and cancellations record it. */
export const reason = text.min(1).max(1_000)

/** A number, also as the text of a query parameter. */
export const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER): z.ZodType<number> =>
  z
    .union([
      z.number(),
      z
        .string()
        .regex(/^\d{1,16}$/)
        .transform(Number),
    ])
    .pipe(z.number().int().min(min).max(max))

/** A boolean, also as the text of a query parameter. */
export const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')])

export const limit = (max = 1_000): z.ZodType<number> => wholeNumber(1, max)

/** Milliseconds, or a text such as '30s'. */
export const duration: z.ZodType<Duration> = z
  .union([z.number(), z.string().max(40)])
  .refine((value) => parseDuration(value) !== undefined, "must be milliseconds, or a text such as '30s', '5m' or '3d'")
  .transform((value) => value as Duration)

/** How long a request may wait for a result: at most ten minutes. */
export const waitTime: z.ZodType<Duration> = duration.refine(
  (value) => (parseDuration(value) ?? 0) <= 600_000,
  'must be at most 10 minutes',
)

/** Any JSON. Parsed bodies contain nothing else. */
export const json = z.unknown().transform((value) => value as Json)
/** Any JSON in a response. */
export const anyJson = z.custom<Json>().meta({})
/** A JSON value that must be present. */
export const jsonObject = z.record(z.string(), z.unknown())

/** Milliseconds since 1970. */
export const instant = z.number().describe('Milliseconds since 1970')

/** The decision of one person. */
export const vote = z.strictObject({
  by: z.string(),
  door: z.string(),
  at: instant,
  reason: z.string().exactOptional(),
})

export const session = name.describe('Id of the session')
export const inSession = { session }

/** A page of a list. */
export const page = { after: name.exactOptional(), limit: limit().exactOptional() }

/** Answer of an operation that reports only whether it changed anything. */
export const changed = z.strictObject({ changed: z.boolean() })

/**
 * A response schema with the library's own type. The tests check every response against its schema, so the two agree.
 */
export const describes = <T>(schema: z.ZodType): z.ZodType<T> => schema as unknown as z.ZodType<T>
