// Checks the host's secrets against the store. The store keeps the fingerprint of every secret it was ever used with,
// in order. All of them must be given: without one, wait keys issued under it stop working and data sealed with it
// cannot be opened.

import { option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { secretFingerprint, type HostKeys, type HostSecret, hostSecret } from '../security/host-secrets.ts'
import type { Store } from './store.ts'

/** The secrets of the host, which derive all keys of the store. */
export interface KeyOptions {
  /** The current secret: at least 32 bytes. Default: the secret that the store keeps itself, if it can. */
  readonly secret: Uint8Array | string
  /**
   * Secrets this store was used with before, or will be soon. Data sealed and keys issued under them stay valid.
   * Default: none.
   */
  readonly previous?: readonly (Uint8Array | string)[]
}

const minBytes = 32
const keyCheck = option.hidden({
  expected: `a string or Uint8Array of at least ${minBytes} bytes`,
  valid: (value) => (typeof value === 'string' || value instanceof Uint8Array) && Buffer.byteLength(value) >= minBytes,
})
export const keysOption = option.nested({
  secret: keyCheck,
  previous: option.listOf(keyCheck),
} satisfies OptionTable<KeyOptions>)

/** Name of the setting with the nth fingerprint. A store that has been used has the first one. */
export const fingerprintSetting = (n: number): string => (n === 0 ? 'secret_fingerprint' : `secret_fingerprint:${n}`)

export async function openKeys(store: Store, options: KeyOptions | undefined): Promise<HostKeys> {
  const secret = options?.secret === undefined ? await store.secret() : Buffer.from(options.secret)
  if (!secret)
    throw new PawlError('config_invalid', `A ${store.kind} store keeps no secret of its own. Set \`keys.secret\`.`)
  if (secret.length < minBytes)
    throw new PawlError('config_invalid', `The secret that the store keeps has ${secret.length} bytes.`)
  const current = hostSecret(secret)
  const previous = (options?.previous ?? []).map((each) => hostSecret(Buffer.from(each)))
  const all = [current, ...previous]
  const byFingerprint = new Map(all.map((each) => [secretFingerprint(each.bytes), each]))
  const own = secretFingerprint(current.bytes)
  let first: HostSecret | undefined
  let found: string | undefined
  // Reads until the current fingerprint is found (adding it if missing), then to the end of the list: an outdated
  // configuration must not open a store that has since been used with a newer secret.
  for (let n = 0, ownFound = false; ; n++) {
    found = ownFound ? await store.settingNow(fingerprintSetting(n)) : await store.setting(fingerprintSetting(n), own)
    if (found === undefined) return { current, first: first as HostSecret, all }
    const known = byFingerprint.get(found)
    if (!known)
      throw new PawlError(
        'keys_mismatch',
        n === 0
          ? undefined
          : `It was also used with secret ${found.slice(0, 8)}. Add that secret to \`keys.previous\`.`,
      )
    first ??= known
    ownFound ||= known === current
  }
}
