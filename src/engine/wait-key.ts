// Keys of waits and other bytes that only the host can derive. A wait key has 256 bits and only its hash is stored. The
// same wait of the same call has the same key after a crash, because it is derived only from recorded data and the
// host's secret.

import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import type { CallPosition } from '../store/records/call-record.ts'
import { lengthPrefixed } from '../core/ids.ts'

const prefix = 'pawl_'
const pattern = /^pawl_[A-Za-z0-9_-]{43}$/

export const newSalt = (): string => randomBytes(16).toString('base64url')

/** Cached per secret: creating the KeyObject takes five times as long as the HMAC. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>()
function keyObjectOf(secret: Uint8Array): KeyObject {
  const key = keyObjects.get(secret) ?? createSecretKey(secret)
  keyObjects.set(secret, key)
  return key
}

export interface WaitIdentity {
  readonly tenant: string
  readonly call: string
  readonly name: string
  readonly salt: string
}

export function waitKey(secret: Uint8Array, { tenant, call, name, salt }: WaitIdentity): string {
  return (
    prefix +
    createHmac('sha256', keyObjectOf(secret))
      .update(lengthPrefixed('pawl wait key v1', tenant, call, name, salt))
      .digest('base64url')
  )
}

export const hashKey = (key: string): string => createHash('sha256').update(key).digest('base64url')

/** Compares in constant time. A record found by hash is compared again, because an index may ignore case. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
/** Removes wait keys from text that is logged or shown: anyone who reads a key can answer the wait. */
export const redactWaitKeys = (text: string): string =>
  text.includes(prefix) ? text.replace(/pawl_[A-Za-z0-9_-]{43}/g, '[wait key]') : text

/** False for text that cannot be a wait key, so it need not be looked up. */
export const looksLikeKey = (text: unknown): text is string => typeof text === 'string' && pattern.test(text)

/** Secret bytes that are the same in every execution of a call. */
export const deriveBytes = (
  secret: Uint8Array,
  { tenant, session, batch, id, occurrence }: CallPosition,
  purpose: string,
): Uint8Array =>
  createHmac('sha256', keyObjectOf(secret))
    .update(lengthPrefixed('pawl derive v1', tenant, session, batch, id, occurrence, purpose))
    .digest()
