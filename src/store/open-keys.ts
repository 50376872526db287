// The host's secrets, checked against the store they belong to. A store remembers the fingerprint of every secret it was used with, in their
// order: with one of them missing, keys handed out before would be dead and what was sealed unreadable, so all of them must be given.

import { PawlError } from '../core/errors.ts'
import { fingerprintOf, type HostKeys, type HostSecret, hostSecret } from '../security/host-keys.ts'
import type { Store } from './store.ts'

export interface KeyOptions {
  /** 32 bytes or more. */
  readonly secret: Uint8Array | string
  /** Secrets this store was used with before, or soon will be: what was made with them is still understood. */
  readonly previous?: readonly (Uint8Array | string)[]
}

/** The setting with the nth fingerprint. */
const settingAt = (n: number): string => (n === 0 ? 'secret_fingerprint' : `secret_fingerprint:${n}`)

export async function openKeys(store: Store, given: KeyOptions | undefined): Promise<HostKeys> {
  const secret = given?.secret === undefined ? await store.secret() : Buffer.from(given.secret)
  if (!secret)
    throw new PawlError('config_invalid', `A ${store.kind} store keeps no secret of its own: give keys: { secret }.`)
  const current = longEnough(secret, 'keys.secret')
  const previous = (given?.previous ?? []).map((each, index) =>
    longEnough(Buffer.from(each), `keys.previous[${index}]`),
  )
  const all = [current, ...previous]
  const byFingerprint = new Map(all.map((each) => [fingerprintOf(each.bytes), each]))
  const own = fingerprintOf(current.bytes)
  let first: HostSecret | undefined
  let found: string | undefined
  // Until its own comes; then on, because an old configuration must not open what was used with a new one meanwhile.
  for (let n = 0, isThere = false; ; n++) {
    found = isThere ? await store.settingNow(settingAt(n)) : await store.setting(settingAt(n), own)
    if (found === undefined) return { current, first: first as HostSecret, all }
    const known = byFingerprint.get(found)
    if (!known)
      throw new PawlError(
        'keys_mismatch',
        n === 0 ? undefined : `It was used with the secret ${found.slice(0, 8)} too; give that under keys.previous.`,
      )
    first ??= known
    isThere ||= known === current
  }
}

function longEnough(secret: Uint8Array, what: string): HostSecret {
  if (secret.length < 32) throw new PawlError('config_invalid', `${what} has ${secret.length} bytes; give at least 32.`)
  return hostSecret(secret)
}
