// Secrets that results of providers may contain: their own credentials, and the host's keys, which a remote tool that
// reads files can find beside the store.

import type { HostKeys } from '../security/host-secrets.ts'
import type { Redactor } from '../security/redact.ts'

/** Returns the function that redacts the secrets of one provider. Without providers, texts need no scan. */
export function remoteSecrets(redact: Redactor, keys: HostKeys): (secrets: readonly string[]) => void {
  let learnedKeys = false
  return (secrets) => {
    for (const secret of secrets) redact.learn(secret)
    if (learnedKeys) return
    learnedKeys = true
    // The key file contains base64url; a host may keep its own secret in another form.
    for (const { bytes } of keys.all)
      for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const)
        redact.learn(Buffer.from(bytes).toString(encoding))
  }
}
