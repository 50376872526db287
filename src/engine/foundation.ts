// The services that every feature of a runtime uses. A feature takes the part it uses, as `Pick<Foundation, …>`, and
// imports the features below it directly.

import type { Clock } from '../core/clock.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Observers } from '../core/observer.ts'
import type { Ids } from '../core/ids.ts'
import type { Scope } from '../core/scope.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { HostKeys } from '../security/host-secrets.ts'
import type { Redactor } from '../security/redact.ts'
import type { Seal } from '../security/seal.ts'
import type { Store } from '../store/store.ts'
import type { Logger } from '../tools/context/tool-context.ts'
import type { Registry } from '../tools/registry.ts'
import type { Engine } from './engine.ts'

/** Makes sure that the redactor knows the secrets of a session, before anything of it is shown, logged or recorded. */
export interface KnownSecrets {
  /** Reads the secrets of the session, of its parents and of its agents, unless this process has read them. */
  ensure(of: Scope): MaybePromise<void>
  /** Reads them in any case: another process may have set one a moment ago. */
  refresh(of: Scope): Promise<void>
  /** Adds a secret that text of this session may contain. An empty session: any of the tenant. */
  learn(of: Scope, text: string): void
}

export interface Foundation {
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly observers: Observers
  readonly store: Store
  readonly keys: HostKeys
  readonly seal: Seal
  readonly redact: Redactor
  readonly knownSecrets: KnownSecrets
  readonly sizes: Sizes
  readonly registry: Registry
  readonly engine: Engine
}
