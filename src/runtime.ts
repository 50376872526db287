// openRuntime() wires the parts of a runtime: the store, the engine, the call pipeline, turns and the feed. Called by
// createRuntime() in index.ts.

import { TimeoutTimers } from './calls/attempts/attempt-timeouts.ts'
import { AppContexts } from './calls/context/app-context.ts'
import { announceDriver } from './calls/deliver-wait-announcement.ts'
import { callPipeline } from './calls/pipeline.ts'
import { outputBudget } from './calls/output/truncate.ts'
import { explainCall } from './calls/authorization/explain-decision.ts'
import { createAnswerValidator, createEditValidator } from './calls/authorization/validate-external-input.ts'
import { Queue } from './calls/scheduling/queue.ts'
import { consoleLogger, safeLogger } from './runtime/safe-logger.ts'
import { containStrayErrors, scope } from './calls/async-context.ts'
import { createProjection } from './calls/output/outcome-for-model.ts'
import { parseDiagnostics } from './calls/record-diagnostics.ts'
import { LocalEngine } from './engine/local/local-engine.ts'
import { Feed } from './feed/event-feed.ts'
import { type CallRecord } from './store/records/call-record.ts'
import { checkHealth } from './maintenance/health.ts'
import { erase, type RetentionHost, prune } from './maintenance/retention.ts'
import { checkOptions } from './core/check-options.ts'
import { milliseconds } from './core/duration.ts'
import { PawlError } from './core/errors.ts'
import { PinStore } from './approvals/definition-pins.ts'
import { Redactor } from './security/redact.ts'
import { resolveSizes } from './core/size-limits.ts'
import { systemClock } from './core/clock.ts'
import { safeObserver } from './core/observer.ts'
import { defineBudgets } from './policy/budgets.ts'
import { definePolicy, type PolicyDefinition } from './policy/rules.ts'
import { Capabilities } from './sessions/define-capability.ts'
import { openApprovals } from './approvals/approvals.ts'
import { endChoreDriver, taskEndChore, endSession } from './sessions/session-end.ts'
import type { BackgroundHost } from './tasks/ports.ts'
import { MovedCalls } from './tasks/moved-calls.ts'
import type { Foundation } from './engine/foundation.ts'
import { openNotices } from './tasks/notices.ts'
import { openSessionFiles } from './storage/files/session-files.ts'
import { openValueStorage } from './storage/values/open-session-values.ts'
import { isUnderTask } from './tasks/is-background.ts'
import { taskTools } from './tasks/task-tools.ts'
import { openSchedules } from './schedules/schedules.ts'
import { scheduleLimits } from './schedules/schedule-limits.ts'
import { DueSignal } from './schedules/due-signal.ts'
import { openWakes } from './schedules/wake-session.ts'
import { Scheduler } from './schedules/scheduler.ts'
import { emit, emitInBody, runtimeEmitOptions } from './schedules/emit-event.ts'
import { openTriggers } from './schedules/triggers.ts'
import { KeyedMutex } from './core/keyed-mutex.ts'
import { openTasks, type TasksHost } from './tasks/tasks.ts'
import { buildTaskCall, callerOf, startedBy } from './sessions/build-task-call.ts'
import { Batches } from './sessions/run-batch.ts'
import { narrator } from './sessions/narrate-events.ts'
import { RecordReader } from './sessions/read-call-records.ts'
import { PinnedToolsets } from './tools/pinned-toolsets.ts'
import { CapabilitySwitches } from './sessions/capability-switches.ts'
import { openSession } from './sessions/session.ts'
import { openKeys } from './store/check-host-secrets.ts'
import { checkFormat, isStore, openStore } from './store/open-store.ts'
import { Seal } from './security/seal.ts'
import { encryptedStore } from './store/encrypted-store.ts'
import type { Store } from './store/store.ts'
import { Registry } from './tools/registry.ts'
import type { ProviderPorts } from './tools/tool-provider-connection.ts'
import { deferThreshold, toolSearchTool } from './tools/tool-search.ts'
import { timeOrderedId } from './runtime/time-ordered-id.ts'
import { checkRuntimeOptions, closeOptions, type Runtime, type RuntimeOptions } from './runtime-options.ts'
import { callRenderer } from './calls/output/render-call-result.ts'
import { openTurns } from './runtime/wire-turns.ts'
import { redactWaitKeys } from './engine/wait-key.ts'
import { parseAnswer } from './store/records/wait-resolution.ts'
import { absentTool } from './store/journal-keys.ts'

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  checkRuntimeOptions(options)
  const clock = options.clock ?? systemClock
  const ids = options.ids ?? { next: timeOrderedId }
  const redact = new Redactor(options.secrets ?? [], redactWaitKeys)
  const logger = safeLogger(options.logger ?? consoleLogger, redact)
  const observer = safeObserver(options.observer, logger)
  const leaseMs = milliseconds(options.lease ?? '30s', 'lease')
  const { poisonAfter = 3, worker: works = true } = options
  const contain: ProviderPorts['contain'] = (name, run) =>
    scope.run({ tool: `provider ${name}`, callId: '', call: '', logger }, run)
  // Set once the store is open.
  let pins: PinStore
  let store: Store
  const switches = new CapabilitySwitches(() => store, clock, new Capabilities(options.capabilities ?? [], taskTools))
  const registry = new Registry([...(options.tools ?? []), ...switches.all.tools], {
    clock,
    logger,
    contain,
    pins: { isAccepted: (definition) => pins.isAccepted(definition) },
    backgroundTools: taskTools,
    unlisted: [toolSearchTool],
  })
  const pinnedToolsets = new PinnedToolsets(registry)
  const sizes = resolveSizes(options.sizes)
  const output = outputBudget(options.output)
  const layers = options.policy === undefined ? [] : Array.isArray(options.policy) ? options.policy : [options.policy]
  const policies = (layers as readonly PolicyDefinition[]).map((layer) => definePolicy(layer))
  const { turn, session, tenant } = defineBudgets(options.budgets ?? {})
  const budgets = [tenant, session, turn].filter((budget) => budget !== undefined)
  const limits = scheduleLimits(options.schedules)
  const hooks = [...(options.hooks ?? []), ...switches.hooks((...of) => registry.toolsetFor(...of))]
  const apps = options.app ? new AppContexts(options.app) : null
  const show = createProjection({ hooks, budget: output, clock, logger, redact })
  const ownsStore = !isStore(options.store)
  const baseStore = await openStore(options, clock)
  const releaseStrays = containStrayErrors()
  try {
    await checkFormat(baseStore)
    const keys = await openKeys(baseStore, options.keys)
    const { encrypt: sealAll = false } = options
    const seal = new Seal(keys, sealAll)
    const unreadable = (what: string, error: unknown): void =>
      logger.error(`The record of ${what} cannot be decrypted`, { error })
    store = encryptedStore(baseStore, { seal, all: sealAll, unreadable })
    pins = new PinStore({ store, clock, logger })
    // Register the providers before the engine claims calls: it claims only calls of registered tools. Registering
    // gives up early on a provider that does not answer.
    await Promise.all((options.providers ?? []).map((provider) => registry.provide(provider)))
    const renderer = callRenderer(show, registry)
    const feed = new Feed({ store, redact, clock }, narrator({ store, redact, registry, seal }))
    const records = new RecordReader(store, output, clock, redact)
    const engine = new LocalEngine({ store, clock, ids, keys, logger, observer, leaseMs, works })
    const queue = new Queue(clock, options.limits, engine)
    const mayAbort = hooks.some((hook) => hook.before ?? hook.after)
    const validationPorts = { toolsOf: (call: CallRecord) => pinnedToolsets.toolsetFor(call), clock, logger, redact }
    const validateAnswer = createAnswerValidator(validationPorts)
    const decideHost = {
      store,
      engine,
      clock,
      ids,
      seal,
      maxBytes: sizes.result,
      validateEdit: createEditValidator(validationPorts),
      validateAnswer,
    }
    const approvals = openApprovals({ ...decideHost, redact })
    const files = openSessionFiles(options.files ?? {}, { store, clock, ids })
    const values = openValueStorage(options.values, { store, clock, learn: (secret) => redact.learn(secret) })
    const closed = new AbortController()
    const due = new DueSignal()
    const movedCalls = new MovedCalls({ store, clock })
    const foundation: Foundation = { clock, ids, logger, store, keys, seal, redact, sizes, registry, engine }
    const background: BackgroundHost = {
      ...foundation,
      renderer,
      queue,
      movedCalls,
      wakes: openWakes(options.wake, { clock, due }),
      closed: closed.signal,
      buildCall: buildTaskCall,
    }
    const batches = new Batches({ ...background, toolsets: pinnedToolsets, show, mayAbort })
    const schedulesHost = { ...background, limits, mutex: new KeyedMutex(), due }
    const tasksHost: TasksHost = { ...background, schedules: (owner, by) => openSchedules(schedulesHost, owner, by) }
    const turns = openTurns({
      background,
      batches,
      records,
      renderer,
      poisonAfter,
      observer,
      compaction: options.compaction ?? null,
      models: options.models ?? [],
      frames: options.frames ?? [],
      switches,
      deferThreshold: deferThreshold(options.toolSearch),
      live: (about, type, body) => feed.publish(about, type, body),
    })
    const pipeline = callPipeline({
      toolsOf: (request) => pinnedToolsets.toolsetFor(request),
      unreachableSources: () => registry.away,
      clock,
      logger,
      observer,
      redact,
      timeoutTimers: new TimeoutTimers(clock),
      queue,
      apps,
      hooks,
      policies,
      remembered: (of) => approvals.remembered(of),
      connection: (of, provider) => approvals.connection(of, provider),
      openSecret: (wait, sealed) => approvals.openSecret(wait, sealed),
      budgets,
      sizes,
      poisonAfter,
      nested: (parent, calls, how) => batches.runNested(parent, calls, how),
      tasks: (of) => openTasks(tasksHost, callerOf(of), startedBy(of, pinnedToolsets.toolsetFor(of.request))),
      endOfTask: (of) => taskEndChore(store, of),
      wakes: background.wakes,
      trigger: (of, event, payload, how) => emitInBody(schedulesHost, of, event, payload, how),
      ...turns.forBodies,
      files,
      ...values,
      outputs: (of) => records.outputs(of),
      live: (about, type, body) => feed.publish(about, type, body),
    })
    engine.register({
      drive: pipeline,
      tools: () => registry.keys.concat(pinnedToolsets.toolKeys, absentTool),
      validateAnswer,
      onReturning: (claimed) => batches.restoreOrder(claimed),
      onGone: (position) => queue.batches.willNotReturn(position),
    })
    engine.register(turns.driver)
    engine.register(endChoreDriver(schedulesHost))
    if (options.announce)
      engine.register(announceDriver({ announce: options.announce, poisonAfter, store, keys, clock, logger }))
    await engine.open()
    const scheduler = works ? new Scheduler(schedulesHost, leaseMs / 3) : null
    registry.onChange(() => {
      pinnedToolsets.refresh()
      engine.lookForWork()
      scheduler?.poll()
    })
    const cancel = (uid: string, why: { reason: string; by: string | null }): Promise<boolean> =>
      engine.cancel(uid, why)
    const retention: RetentionHost = { store, clock, cancel }
    let closing: Promise<void> | null = null
    return {
      session: (id, about) =>
        openSession(
          {
            batches,
            feed,
            records,
            ids,
            registry,
            works,
            approvals,
            cancel,
            tasks: (owner) => openTasks(tasksHost, owner),
            isUnderTask: (uid) => isUnderTask(store, uid),
            end: (owner, how) => endSession(background, owner, how),
            switches,
            turn: (caller, turn, first) => turns.start(caller, turn, first),
            messages: (of) => turns.messages(of),
            usage: (of) => turns.usage(of),
            notices: (of) => openNotices(background, of),
            files,
            ...values,
            schedules: (owner) => openSchedules(schedulesHost, owner),
            triggers: (owner) => openTriggers(schedulesHost, owner),
          },
          id,
          about,
        ),
      tools: {
        add: (tools) => registry.add(tools),
        remove: (name) => registry.remove(name),
        list: () => registry.list(),
        provide: (provider) => registry.provide(provider),
        withdraw: (provider) => registry.withdraw(provider),
      },
      quarantine: { list: () => pins.list(), accept: (change) => pins.accept(change) },
      async resolve(key, answer) {
        const checked = parseAnswer(answer, sizes.result)
        return 'problems' in checked ? { answer: 'invalid', problems: checked.problems } : engine.resolve(key, checked)
      },
      async emit(event, payload, how) {
        checkOptions(how, runtimeEmitOptions, 'emit()', 'trigger_invalid')
        return emit(
          schedulesHost,
          { tenant: how?.tenant ?? 'default', session: how?.session },
          event,
          payload,
          how?.key,
        )
      },
      inbox: (query) => approvals.inbox(query),
      decide: (id, decision) => approvals.decide(id, decision),
      rules: approvals.rules,
      connections: approvals.connections,
      explain: (call) =>
        explainCall(
          { toolsOf: (...of) => registry.toolsetFor(...of), policies, remembered: approvals.remembered, clock, logger },
          call,
        ),
      async diagnostics(uid) {
        const { trouble = null } = (await store.call(uid)) ?? {}
        return trouble === null ? undefined : parseDiagnostics(trouble)
      },
      events: feed.reader(),
      prune: (query) => prune(retention, query),
      erase: (query) => erase(retention, query),
      health: () => checkHealth({ store, clock, tools: engine.tools }),
      async close(how) {
        checkOptions(how, closeOptions, 'close()')
        const graceMs = milliseconds(how?.grace ?? '5s', 'grace')
        closing ??= (async () => {
          closed.abort(new PawlError('runtime_closed'))
          try {
            await scheduler?.close()
            await engine.close(graceMs)
          } finally {
            await registry.close()
            feed.close()
            movedCalls.close()
            turns.close()
            releaseStrays()
            if (ownsStore) await baseStore.close()
          }
        })()
        return closing
      },
    }
  } catch (error) {
    await registry.close()
    releaseStrays()
    if (ownsStore) await baseStore.close()
    throw error
  }
}
