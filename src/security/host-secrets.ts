// The host's secrets. New data is sealed with the current one; data sealed with an earlier one names it by id.

import { createHash } from 'node:crypto'
import { PawlError } from '../core/errors.ts'

export interface HostSecret {
  /** Identifies the secret without revealing it. */
  readonly id: string
  readonly bytes: Uint8Array
}

export interface HostKeys {
  readonly current: HostSecret
  /** The secret the store was created with. Records that name no secret use it. */
  readonly first: HostSecret
  readonly all: readonly HostSecret[]
}

export const secretFingerprint = (secret: Uint8Array): string =>
  createHash('sha256').update('pawl secret v1').update(secret).digest('base64url')

export const hostSecret = (bytes: Uint8Array): HostSecret => ({ id: secretFingerprint(bytes).slice(0, 8), bytes })

/** The secret with this id; the first one if a record names none. */
export function secretById(keys: HostKeys, id: string | undefined): Uint8Array {
  if (id === undefined) return keys.first.bytes
  const found = keys.all.find((each) => each.id === id)
  if (!found) throw new PawlError('keys_mismatch', `The secret ${id} is not in keys.`)
  return found.bytes
}
