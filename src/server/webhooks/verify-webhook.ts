// verifyWebhook(): checks a request that webhook() sent. Called by the program that receives it.

import { timingSafeEqual } from 'node:crypto'
import { systemClock } from '../../core/clock.ts'
import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { secretCheck, signWebhook, type WebhookSecret } from './sign-webhook.ts'
import type { WebhookMessage } from './webhook.ts'

/** A received request to check. */
export interface VerifyWebhook {
  /** The body as it was received, before any parsing. */
  readonly body: string | Uint8Array
  /** The headers: of a `Request`, or of a Node request. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The secret of the webhook. */
  readonly secret: WebhookSecret
  /** How far the timestamp may be from now, in milliseconds. Default: 5 minutes. */
  readonly toleranceMs?: number
  /** The current time in milliseconds since 1970. Default: the system clock. */
  readonly now?: () => number
}

const defaultToleranceMs = 5 * 60_000

export const verifyWebhookOptions = {
  body: option.required({
    expected: 'the received body, as a string or Uint8Array',
    valid: (value) => typeof value === 'string' || value instanceof Uint8Array,
  }),
  headers: option.required(option.object),
  secret: option.required(secretCheck),
  toleranceMs: option.nonNegativeNumber,
  now: option.func,
} satisfies OptionTable<VerifyWebhook>

/**
 * The message of a request that was signed with the secret a short time ago; undefined for any other. The same message
 * may arrive more than once: deduplicate by `id`.
 *
 * @example
 * const message = verifyWebhook({ body: await request.text(), headers: request.headers, secret })
 * if (!message) return new Response(null, { status: 401 })
 */
export function verifyWebhook(request: VerifyWebhook): WebhookMessage | undefined {
  checkRequiredOptions(request, verifyWebhookOptions, 'verifyWebhook()')
  const { body, headers, secret, toleranceMs = defaultToleranceMs, now = systemClock.now } = request
  const [id, timestamp, signature] = ['pawl-id', 'pawl-timestamp', 'pawl-signature'].map((name) =>
    headerOf(headers, name),
  )
  if (id === undefined || timestamp === undefined || signature === undefined) return undefined
  const expected = Buffer.from(signWebhook({ id, timestamp, body, secret }))
  const received = Buffer.from(signature)
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(now() - Number(timestamp)) > toleranceMs) return undefined
  const message = parseMessage(Buffer.from(body).toString())
  return message?.id === id ? message : undefined
}

/** Undefined if the header is missing or was sent several times. */
function headerOf(headers: VerifyWebhook['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const values = Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []))
  return values.length === 1 ? values[0] : undefined
}

/** The receiver may have been given any text: a signature says who sent it, not that it is a message. */
function parseMessage(text: string): WebhookMessage | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as WebhookMessage) : undefined
  } catch {
    return undefined
  }
}
