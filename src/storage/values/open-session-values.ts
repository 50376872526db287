// Opens the values and secrets of sessions with the quotas of the runtime.

import type { SessionSecrets, SessionValues } from '../../core/session-values-interface.ts'
import type { Scope } from '../../core/scope.ts'
import { type OpenedSecrets, openSecrets, type SecretParts } from './secrets.ts'
import { openValues, type ValueQuotas, valueQuotas } from './key-value-storage.ts'
import type { Writer } from './write-value.ts'

export interface ValueStorage {
  values(of: Scope, writer?: Writer): SessionValues
  /** For the host program: without read access to the values. */
  secrets(of: Scope): SessionSecrets
  secrets(of: Scope, writer: Writer): OpenedSecrets
}

export function openValueStorage(options: Partial<ValueQuotas> | undefined, parts: SecretParts): ValueStorage {
  const quotas = valueQuotas(options)
  function secrets(of: Scope, writer?: Writer): OpenedSecrets | SessionSecrets {
    const opened = openSecrets(parts, of, writer)
    const { set, delete: remove, has, list } = opened
    return writer ? opened : { set, delete: remove, has, list }
  }
  return {
    values: (of, writer) => openValues({ ...parts, quotas }, of, writer),
    secrets: secrets as ValueStorage['secrets'],
  }
}
