// The signature of a webhook request, for the sender (webhook.ts) and the receiver (verify-webhook.ts).

import { createHmac } from 'node:crypto'
import { option } from '../../core/check-options.ts'

/** The shared secret of a webhook: at least 16 bytes. */
export type WebhookSecret = string | Uint8Array

const minBytes = 16
export const secretCheck = option.hidden({
  expected: `a string or Uint8Array of at least ${minBytes} bytes`,
  valid: (value) => (typeof value === 'string' || value instanceof Uint8Array) && Buffer.byteLength(value) >= minBytes,
})

interface SignedRequest {
  readonly id: string
  readonly timestamp: string
  readonly body: string | Uint8Array
  readonly secret: WebhookSecret
}

/** The value of the header `pawl-signature`. */
export const signWebhook = ({ id, timestamp, body, secret }: SignedRequest): string =>
  `v1=${createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('hex')}`
