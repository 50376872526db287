// WORDS: the host's secrets. New things are made with the current one; what was made with an earlier one is known by that one's id.

import { createHash } from 'node:crypto'
import { PawlError } from '../core/errors.ts'

export interface HostSecret {
  /** Tells secrets apart; says nothing about the secret. */
  readonly id: string
  readonly bytes: Uint8Array
}

export interface HostKeys {
  readonly current: HostSecret
  /** The one the store was made with: what names no secret was made with it. */
  readonly first: HostSecret
  readonly all: readonly HostSecret[]
}

export const fingerprintOf = (secret: Uint8Array): string =>
  createHash('sha256').update('pawl secret v1').update(secret).digest('base64url')

export const hostSecret = (bytes: Uint8Array): HostSecret => ({ id: fingerprintOf(bytes).slice(0, 8), bytes })

/** The secret a call began under. */
export function secretOf(keys: HostKeys, id: string | undefined): Uint8Array {
  if (id === undefined) return keys.first.bytes
  const found = keys.all.find((each) => each.id === id)
  if (!found) throw new PawlError('keys_mismatch', `The secret ${id} is not among keys.`)
  return found.bytes
}
