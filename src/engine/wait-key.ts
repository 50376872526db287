// What only the host can derive. The key of a wait (WAIT-3): 256 bits that only the host can derive and only their hash is stored. The same wait of the same
// call has the same key after a crash, because everything it is derived from is on record or with the host.

import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import type { CallPosition } from '../store/records/call-record.ts'
import { frame } from '../core/ids.ts'

const prefix = 'pawl_'
const shape = /^pawl_[A-Za-z0-9_-]{43}$/

export const newSalt = (): string => randomBytes(16).toString('base64url')

/** Made once of a secret: to make it anew for every key takes five times as long as the key itself. */
const prepared = new WeakMap<Uint8Array, KeyObject>()
function prepare(secret: Uint8Array): KeyObject {
  const known = prepared.get(secret) ?? createSecretKey(secret)
  prepared.set(secret, known)
  return known
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
    createHmac('sha256', prepare(secret))
      .update(frame('pawl wait key v1', tenant, call, name, salt))
      .digest('base64url')
  )
}

export const hashKey = (key: string): string => createHash('sha256').update(key).digest('base64url')

/** In constant time. What a store found by a hash is compared once more: an index may be case-blind, and is not careful about time. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
/** Keys belong to whoever is to answer: taken out of what is logged or told (WAIT-3). */
export const withoutKeys = (text: string): string =>
  text.includes(prefix) ? text.replace(/pawl_[A-Za-z0-9_-]{43}/g, '[wait key]') : text

/** Whether a text could be a key at all; what is not one need not be looked up. */
export const looksLikeKey = (text: unknown): text is string => typeof text === 'string' && shape.test(text)

/** Bytes that every execution of a call gets again, and nobody can guess. */
export const derived = (
  secret: Uint8Array,
  { tenant, session, batch, id, occurrence }: CallPosition,
  purpose: string,
): Uint8Array =>
  createHmac('sha256', prepare(secret))
    .update(frame('pawl derive v1', tenant, session, batch, id, occurrence, purpose))
    .digest()
