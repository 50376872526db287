// Validates the options of a runtime and resolves their defaults, before anything is created: invalid options leave no
// file behind. Called by openRuntime().

import type { Hook } from '../calls/admission/hook-definition.ts'
import { outputBudget, type OutputBudget } from '../calls/output/truncate.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Ids } from '../core/ids.ts'
import { Observers } from '../core/observer.ts'
import { resolveSizes, type Sizes } from '../core/size-limits.ts'
import { redactWaitKeys } from '../engine/wait-key.ts'
import { type Budget, defineBudgets } from '../policy/budgets.ts'
import { definePolicy, type Policy, type PolicyDefinition } from '../policy/rules.ts'
import type { Compaction } from '../models/turn-interface.ts'
import { checkRuntimeOptions, type RuntimeOptions } from '../runtime-options.ts'
import { DueSignal } from '../schedules/due-signal.ts'
import { type CheckedLimits, scheduleLimits } from '../schedules/schedule-limits.ts'
import { openWakes } from '../schedules/wake-session.ts'
import { Redactor } from '../security/redact.ts'
import { Capabilities } from '../sessions/define-capability.ts'
import type { Wakes } from '../tasks/ports.ts'
import { taskTools } from '../tasks/task-tools.ts'
import type { Logger } from '../tools/context/tool-context.ts'
import { createLayer } from '../tools/toolset.ts'
import { deferThreshold } from '../tools/tool-search.ts'
import { consoleLogger, safeLogger } from './safe-logger.ts'
import { readModels } from '../turns/turns.ts'
import { timeOrderedId } from './time-ordered-id.ts'

export interface Settings extends ReturnType<typeof readModels> {
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly observers: Observers
  readonly redact: Redactor
  readonly sizes: Sizes
  readonly leaseMs: number
  readonly works: boolean
  readonly poisonAfter: number
  /** Encrypt everything at rest. */
  readonly sealAll: boolean
  readonly output: OutputBudget
  readonly policies: readonly Policy[]
  readonly budgets: readonly Budget[]
  readonly hooks: readonly Hook[]
  readonly capabilities: Capabilities
  readonly limits: CheckedLimits
  readonly due: DueSignal
  readonly wakes: Wakes
  readonly deferFrom: number | null
  /** The host has not set `toolSearch`, so it may not expect that schemas are deferred. */
  readonly deferByDefault: boolean
  readonly compaction: Compaction | null
}

/** Without this check an old Node fails at a random place, such as a missing module. */
function checkNodeVersion(): void {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (major < 22 || (major === 22 && minor < 18))
    throw new PawlError('node_unsupported', `Pawl needs Node 22.18 or newer; this is Node ${node}.`)
}

export function readSettings(options: RuntimeOptions): Settings {
  checkNodeVersion()
  checkRuntimeOptions(options)
  const { clock = systemClock, poisonAfter = 3, worker: works = true, encrypt: sealAll = false } = options
  const redact = new Redactor(options.secrets ?? [], redactWaitKeys)
  const logger = safeLogger(options.logger ?? consoleLogger, redact)
  const observers = new Observers(logger)
  if (options.observer) observers.add(options.observer)
  const leaseMs = milliseconds(options.lease ?? '30s', 'lease')
  const capabilities = new Capabilities(options.capabilities ?? [], taskTools)
  createLayer([...(options.tools ?? []), ...capabilities.tools])
  const layers = options.policy === undefined ? [] : Array.isArray(options.policy) ? options.policy : [options.policy]
  const { turn, session, tenant } = defineBudgets(options.budgets ?? {})
  const due = new DueSignal()
  return {
    clock,
    ids: options.ids ?? { next: timeOrderedId },
    logger,
    observers,
    redact,
    sizes: resolveSizes(options.sizes),
    leaseMs,
    works,
    poisonAfter,
    sealAll,
    output: outputBudget(options.output),
    policies: (layers as readonly PolicyDefinition[]).map((layer) => definePolicy(layer)),
    budgets: [tenant, session, turn].filter((budget) => budget !== undefined),
    hooks: options.hooks ?? [],
    capabilities,
    limits: scheduleLimits(options.schedules),
    due,
    wakes: openWakes(options.wake, { clock, due }),
    compaction: options.compaction ?? null,
    deferFrom: deferThreshold(options.toolSearch),
    deferByDefault: options.toolSearch === undefined,
    ...readModels(options),
  }
}
