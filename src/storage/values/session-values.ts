// VALUES: the values and secrets of each session, as a runtime was told to keep them.

import type { SessionSecrets, SessionValues } from '../../core/session-values.ts'
import type { Scope } from './value-rows.ts'
import { type OpenedSecrets, openSecrets, type SecretParts } from './secrets.ts'
import { openValues, type ValueQuotas, valueQuotas } from './values.ts'
import type { Writer } from './write-value.ts'

export interface KeptOfSession {
  values(of: Scope, writer?: Writer): SessionValues
  /** For the program: without their values. */
  secrets(of: Scope): SessionSecrets
  secrets(of: Scope, writer: Writer): OpenedSecrets
}

/** Throws config_invalid. */
export function keptOf(given: Partial<ValueQuotas> | undefined, parts: SecretParts): KeptOfSession {
  const quotas = valueQuotas(given)
  function secrets(of: Scope, writer?: Writer): OpenedSecrets | SessionSecrets {
    const opened = openSecrets(parts, of, writer)
    const { set, delete: remove, has, list } = opened
    return writer ? opened : { set, delete: remove, has, list }
  }
  return {
    values: (of, writer) => openValues({ ...parts, quotas }, of, writer),
    secrets: secrets as KeptOfSession['secrets'],
  }
}
