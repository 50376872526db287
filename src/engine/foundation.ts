// The services that every feature of a runtime uses. A feature takes the part it uses, as `Pick<Foundation, …>`, and
// imports the features below it directly.

import type { Clock } from '../core/clock.ts'
import type { Observer } from '../core/observer.ts'
import type { Ids } from '../core/ids.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { HostKeys } from '../security/host-secrets.ts'
import type { Redactor } from '../security/redact.ts'
import type { Seal } from '../security/seal.ts'
import type { Store } from '../store/store.ts'
import type { Logger } from '../tools/context/tool-context.ts'
import type { Registry } from '../tools/registry.ts'
import type { Engine } from './engine.ts'

export interface Foundation {
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** Null if no observer is configured. */
  readonly observer: Observer | null
  readonly store: Store
  readonly keys: HostKeys
  readonly seal: Seal
  readonly redact: Redactor
  readonly sizes: Sizes
  readonly registry: Registry
  readonly engine: Engine
}
