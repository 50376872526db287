// openRuntime() builds the parts of a runtime in order: settings, store, registry, engine, features, drivers. The
// engine claims calls only after all drivers are registered. Called by createRuntime() in index.ts.

import { openApprovals } from './approvals/approvals.ts'
import { readRequest } from './approvals/inbox.ts'
import { PinStore } from './approvals/definition-pins.ts'
import { containStrayErrors, scope } from './calls/async-context.ts'
import { TimeoutTimers } from './calls/attempts/attempt-timeouts.ts'
import { AppContexts } from './calls/context/app-context.ts'
import { announceDriver } from './calls/deliver-wait-announcement.ts'
import { createProjection } from './calls/output/outcome-for-model.ts'
import { callRenderer } from './calls/output/render-call-result.ts'
import { callPipeline } from './calls/pipeline.ts'
import { Queue } from './calls/scheduling/queue.ts'
import { checkOptions } from './core/check-options.ts'
import { milliseconds } from './core/duration.ts'
import { PawlError } from './core/errors.ts'
import { KeyedMutex } from './core/keyed-mutex.ts'
import type { Foundation } from './engine/foundation.ts'
import { LocalEngine } from './engine/local/local-engine.ts'
import { Feed } from './feed/event-feed.ts'
import { closeOptions, type Runtime, type RuntimeOptions } from './runtime-options.ts'
import { publicRuntime } from './runtime/public-runtime.ts'
import { remoteSecrets } from './runtime/remote-secrets.ts'
import { readSettings } from './runtime/settings.ts'
import { emitInBody } from './schedules/emit-event.ts'
import type { SchedulesHost } from './schedules/ports.ts'
import { Scheduler } from './schedules/scheduler.ts'
import { openSchedules } from './schedules/schedules.ts'
import { Seal } from './security/seal.ts'
import { buildTaskCall, callerOf, startedBy } from './sessions/build-task-call.ts'
import { CapabilitySwitches } from './sessions/capability-switches.ts'
import { narrator } from './sessions/narrate-events.ts'
import { RecordReader } from './sessions/read-call-records.ts'
import { Batches } from './sessions/run-batch.ts'
import { endChoreDriver, taskEndChore } from './sessions/session-end.ts'
import { openKnownSecrets } from './storage/values/known-secrets.ts'
import { openSessionStorage } from './storage/session-storage.ts'
import { openKeys } from './store/check-host-secrets.ts'
import { encryptedStore } from './store/encrypted-store.ts'
import { checkFormat, isStore, openStore } from './store/open-store.ts'
import { absentTool } from './store/journal-keys.ts'
import { MovedCalls } from './tasks/moved-calls.ts'
import { taskTools } from './tasks/task-tools.ts'
import { openTasks, type TasksHost } from './tasks/tasks.ts'
import { PinnedToolsets } from './tools/pinned-toolsets.ts'
import { Registry } from './tools/registry.ts'
import { toolSearchTool } from './tools/tool-search.ts'
import { openTurns } from './turns/turns.ts'

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const settings = readSettings(options)
  const { clock, ids, logger, observers, redact, sizes, leaseMs, works, poisonAfter, capabilities } = settings
  /** Closes the parts built so far, the last one first. */
  const closers: (() => void | Promise<void>)[] = []
  const closeParts = async (): Promise<void> => {
    for (const close of closers.toReversed()) await close()
  }
  const baseStore = await openStore(options, clock)
  if (!isStore(options.store)) closers.push(() => baseStore.close()) // a store of the caller stays open
  if (options.containErrors ?? true) closers.push(containStrayErrors(logger)) // returns the function that ends it
  try {
    await checkFormat(baseStore)
    const keys = await openKeys(baseStore, options.keys)
    const seal = new Seal(keys, settings.sealAll)
    const store = encryptedStore(baseStore, { seal, logger })
    const pins = new PinStore({ store, clock, logger })
    const registry = new Registry([...(options.tools ?? []), ...capabilities.tools], {
      clock,
      logger,
      contain: (name, run) => scope.run({ tool: `provider ${name}`, callId: '', call: '', logger }, run),
      pins,
      learnSecrets: remoteSecrets(redact, keys),
      backgroundTools: taskTools,
      unlisted: [toolSearchTool],
    })
    closers.push(() => registry.close())
    const toolsets = new PinnedToolsets(registry)
    const switches = new CapabilitySwitches(store, clock, capabilities)
    // Before the engine claims calls: it claims only calls of registered tools.
    await Promise.all((options.providers ?? []).map((provider) => registry.provide(provider)))

    const engine = new LocalEngine({ store, clock, ids, keys, logger, observers, leaseMs, works })
    const knownSecrets = openKnownSecrets({ store, clock, redact, engine })
    closers.push(() => knownSecrets.close())
    const services = { clock, ids, logger, observers, store, keys, seal, redact, knownSecrets, sizes }
    const foundation: Foundation = { ...services, registry, engine }
    const queue = new Queue(clock, options.limits, engine)
    const hooks = [...settings.hooks, ...switches.hooks(registry)]
    const show = createProjection({ hooks, budget: settings.output, clock, logger, redact })
    const feed = new Feed(foundation, narrator(foundation))
    closers.push(() => feed.close())
    const records = new RecordReader(foundation, settings.output)
    const approvals = openApprovals({ ...foundation, toolsets })
    const movedCalls = new MovedCalls(foundation)
    closers.push(() => movedCalls.close())
    const closed = new AbortController()
    const background: SchedulesHost & TasksHost = {
      ...settings,
      ...foundation,
      renderer: callRenderer(show, foundation),
      queue,
      movedCalls,
      closed: closed.signal,
      buildCall: buildTaskCall,
      mutex: new KeyedMutex(),
      schedules: (owner, by) => openSchedules(background, owner, by),
    }
    const batches = new Batches({ ...background, toolsets, show, hooks })
    const turns = openTurns({ ...settings, ...background, batches, records, feed, switches })
    closers.push(() => turns.close())

    const storage = openSessionStorage(options, foundation)
    const features = { ...settings, ...background, approvals, batches, records, feed, storage }
    const drive = callPipeline({
      ...features,
      ...turns.forBodies,
      toolsets,
      hooks,
      timeoutTimers: new TimeoutTimers(clock),
      apps: options.app ? new AppContexts(options.app) : null,
      tasks: (of) => openTasks(background, callerOf(of), startedBy(of, toolsets.toolsetFor(of.request))),
      endOfTask: (of) => taskEndChore(store, of),
      trigger: (of, event, payload, how) => emitInBody(background, of, event, payload, how),
    })
    engine.register({
      drive,
      tools: () => registry.keys.concat(toolsets.toolKeys, absentTool), // calls of unknown names are claimed to fail
      validateAnswer: approvals.validateAnswer,
      onReturning: (claimed) => batches.restoreOrder(claimed),
      onGone: (position) => queue.batches.willNotReturn(position),
    })
    engine.register(turns.driver)
    engine.register(endChoreDriver(background))
    const { announce } = options
    if (announce) {
      const openRequest = (id: string) => readRequest(foundation, id)
      engine.register(announceDriver({ ...foundation, announce, openRequest, poisonAfter }))
    }
    await engine.open()
    const scheduler = works ? new Scheduler(background, leaseMs / 3) : null
    registry.onChange(() => {
      toolsets.refresh()
      engine.lookForWork()
      scheduler?.poll()
    })
    let closing: Promise<void> | null = null
    const closeAll = async (graceMs: number): Promise<void> => {
      closed.abort(new PawlError('runtime_closed'))
      try {
        await scheduler?.close()
        await engine.close(graceMs)
      } finally {
        await closeParts()
      }
    }
    return publicRuntime({ ...features, toolsets, switches, turns, pins }, async (how) => {
      checkOptions(how, closeOptions, 'close()')
      const graceMs = milliseconds(how?.grace ?? '5s', 'grace')
      return (closing ??= closeAll(graceMs))
    })
  } catch (error) {
    await closeParts()
    throw error
  }
}
