// createRuntime() comes here (index.ts) and this wires it: a store, the engine on it, the pipeline, the feed. Everything here has one place it comes from.

import { TimeoutTimers } from './calls/attempts/timeout-timers.ts'
import { AppContexts } from './calls/context/app-context.ts'
import { announcing } from './calls/announce-wait.ts'
import { callPipeline } from './calls/pipeline.ts'
import { checkBudget } from './calls/output/truncate.ts'
import { explainCall } from './calls/authorization/explain-decision.ts'
import { checkHooks } from './calls/admission/hook.ts'
import { judgeAnswer } from './calls/authorization/validate-answer.ts'
import { judgeEdit } from './calls/authorization/validate-edit.ts'
import { Queue } from './calls/scheduling/queue.ts'
import { consoleLogger, neverThrowing } from './runtime/safe-logger.ts'
import { wordsWithoutSecrets } from './calls/output/redact-outcome.ts'
import { containStrays, scope } from './calls/async-context.ts'
import { showing } from './calls/output/project-outcome.ts'
import type { Diagnostics } from './calls/diagnostics.ts'
import { LocalEngine } from './engine/local/local-engine.ts'
import { Feed } from './feed/feed.ts'
import { type CallPosition, type CallRecord } from './store/records/call-record.ts'
import { checkHealth } from './maintenance/health.ts'
import { erase, type KeepHost, prune } from './maintenance/retention.ts'
import { milliseconds } from './core/duration.ts'
import { PawlError } from './core/errors.ts'
import type { Outcome } from './core/outcome.ts'
import { PinsOnRecord } from './approvals/pins.ts'
import { checkedSecrets, Redactor } from './security/redact.ts'
import { sizesOf } from './core/size-limits.ts'
import { systemClock } from './core/clock.ts'
import { defineBudgets } from './policy/budgets.ts'
import { definePolicy, type PolicyDefinition } from './policy/rules.ts'
import { Capabilities } from './sessions/capability.ts'
import { openPeople } from './approvals/approvals.ts'
import { adoptTask } from './tasks/move-to-background.ts'
import { ending, endOfTask, endSession } from './sessions/session-end.ts'
import type { BackgroundHost } from './tasks/ports.ts'
import { noticeOfMoved, openNotices } from './tasks/notices.ts'
import { filesOf } from './storage/files/session-files.ts'
import { keptOf } from './storage/values/session-values.ts'
import { isUnderTask } from './tasks/is-background.ts'
import { readMoved } from './tasks/read-task.ts'
import { taskTools } from './tasks/task-tools.ts'
import { openSchedules } from './schedules/schedules.ts'
import { scheduleLimits } from './schedules/schedule-limits.ts'
import { wakesOf } from './schedules/wake.ts'
import { Scheduler } from './schedules/scheduler.ts'
import { checkEmit, emit, emitInBody } from './schedules/emit-event.ts'
import { openTriggers } from './schedules/triggers.ts'
import { KeyedMutex } from './core/keyed-mutex.ts'
import { openTasks, type TasksHost } from './tasks/tasks.ts'
import { askTask, ownerOf, startedBy } from './sessions/task-call.ts'
import { Batches } from './sessions/batch.ts'
import { narrator } from './sessions/narrator.ts'
import { BackgroundMoves } from './sessions/background-moves.ts'
import { Records } from './sessions/record-reader.ts'
import { PinnedToolsets } from './sessions/pinned-toolsets.ts'
import { CapabilitySwitches } from './sessions/capabilities.ts'
import { openSession } from './sessions/session.ts'
import { openKeys } from './store/open-keys.ts'
import { checkFormat, isStore, openStore } from './store/open-store.ts'
import { Seal } from './security/seal.ts'
import { sealed } from './store/encrypted-store.ts'
import type { Store } from './store/store.ts'
import { Registry } from './tools/registry.ts'
import type { ProviderPorts } from './tools/provider-connection.ts'
import { searchFrom, toolSearchTool } from './tools/tool-search.ts'
import type { Toolset } from './tools/toolset.ts'
import { driving } from './runtime/drivers.ts'
import { timeOrderedId } from './runtime/time-ordered-id.ts'
import { liveEvent } from './runtime/live-event.ts'
import { checkOptions, type Runtime, type RuntimeOptions } from './runtime-options.ts'
import { shownCall } from './runtime/render-call.ts'
import { openTurns } from './runtime/open-turns.ts'
import { learnSecrets } from './storage/values/secrets.ts'
import { withoutKeys } from './engine/wait-key.ts'
import { checkedAnswer } from './store/records/resolution.ts'

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  checkOptions(options)
  const clock = options.clock ?? systemClock
  const ids = options.ids ?? { next: timeOrderedId }
  const redact = new Redactor(checkedSecrets(options.secrets ?? []), withoutKeys)
  const logger = neverThrowing(options.logger ?? consoleLogger, redact)
  const leaseMs = milliseconds(options.lease ?? '30s', 'lease')
  if (leaseMs < 100) throw new PawlError('config_invalid', `lease is ${leaseMs} ms; it must be at least 100 ms.`)
  const { poisonAfter = 3, worker: works = true } = options
  const contain: ProviderPorts['contain'] = (name, run) =>
    scope.run({ tool: `provider ${name}`, callId: '', call: '', logger }, run)
  // Both come with the store.
  let pins: PinsOnRecord
  let store: Store
  const switches = new CapabilitySwitches(() => store, clock, new Capabilities(options.capabilities ?? [], taskTools))
  const registry = new Registry([...(options.tools ?? []), ...switches.all.tools], {
    clock,
    logger,
    contain,
    pins: { judge: (definition) => pins.judge(definition) },
    backgroundTools: taskTools,
    unlisted: [toolSearchTool],
  })
  const standing = new PinnedToolsets((tenant, session) => registry.live(tenant, session))
  const queue = new Queue(clock, options.limits)
  const sizes = sizesOf(options.sizes)
  const output = checkBudget(options.output)
  const layers = options.policy === undefined ? [] : Array.isArray(options.policy) ? options.policy : [options.policy]
  const policies = (layers as readonly PolicyDefinition[]).map((layer) => definePolicy(layer))
  const { turn, session, tenant } = defineBudgets(options.budgets ?? {})
  const budgets = [tenant, session, turn].filter((budget) => budget !== undefined)
  const most = scheduleLimits(options.schedules)
  const hooks = [...checkHooks(options.hooks ?? []), ...switches.hooks((...of) => registry.live(...of))]
  const apps = options.app ? new AppContexts(options.app) : null
  const show = showing({ hooks, budget: output, clock, logger, redact })
  const own = !isStore(options.store)
  const inner = await openStore(options, clock)
  const release = containStrays()
  try {
    await checkFormat(inner)
    const keys = await openKeys(inner, options.keys)
    const seal = new Seal(keys)
    const { encrypt: sealAll = false } = options
    if (typeof sealAll !== 'boolean')
      throw new PawlError('config_invalid', `encrypt is ${JSON.stringify(sealAll)}, not true or false.`)
    const sealFor = (sensitive: boolean): Seal | null => (sealAll || sensitive ? seal : null)
    const words = (outcome: Outcome): Outcome => (redact.active ? wordsWithoutSecrets(outcome, redact) : outcome)
    const unreadable = (what: string, error: unknown): void =>
      logger.error(`What is on record of ${what} cannot be opened`, { error })
    store = sealed(inner, { seal, all: sealAll, unreadable })
    pins = new PinsOnRecord({ store, clock, logger })
    // Before the engine looks for work: it claims only what can be run here. A source that does not answer is not waited for long.
    await Promise.all((options.providers ?? []).map((provider) => registry.provide(provider)))
    const live = (of: string, id: string): Toolset => registry.live(of, id)
    const shown = shownCall(show, live)
    const learn = (of: { tenant: string; session: string }): Promise<void> =>
      learnSecrets(store, of, (secret) => redact.learn(secret))
    const feed = new Feed(store, redact, narrator({ store, redact, sealAll, tools: live }), learn)
    const records = new Records(store, output, clock, redact)
    // The pipeline drives calls of the engine, and calls may make calls: the engine is reached when it is there.
    let engine: LocalEngine
    const mayAbort = hooks.some((hook) => hook.before ?? hook.after)
    const moves = new BackgroundMoves({
      store,
      clock,
      movedTo: (of, uid) => readMoved(background, of, uid),
      isUntold: async (of, uid) => (await noticeOfMoved(background, of, uid)) === 'to come',
      async move({ position, principal }, uid) {
        const record = await engine.recorded(position)
        return record?.uid === uid ? adoptTask(background, { ...position, principal }, record, {}) : null
      },
      warn: (message, fields) => logger.warn(message, fields),
    })
    const batches = new Batches({
      engine: () => engine,
      queue,
      standing,
      show,
      sizes,
      ids,
      mayAbort,
      sealFor,
      words,
      moves,
    })
    const judging = { toolsOf: (call: CallRecord) => standing.of(call), clock, logger, redact }
    const judge = judgeAnswer(judging)
    const deciding = {
      store,
      engine: () => engine,
      clock,
      ids,
      seal,
      mostBytes: sizes.result,
      judgeEdit: judgeEdit(judging),
      judgeAnswer: judge,
    }
    const people = openPeople({ ...deciding, redact })
    const files = filesOf(options.files ?? {}, { store, clock, ids })
    const kept = keptOf(options.values, { store, clock, learn: (secret) => redact.learn(secret) })
    const closed = new AbortController()
    let scheduler: Scheduler | undefined
    const background: BackgroundHost = {
      store,
      engine: () => engine,
      clock,
      ids,
      logger,
      words,
      result: shown.words,
      learn: ({ tenant: of, session: id }) => learn({ tenant: of, session: id }),
      shown: (text) => redact.text(text),
      shownIn: (value) => redact.deep(value),
      mostBytes: sizes.arguments,
      longestReason: sizes.event,
      closed: closed.signal,
      mostTasks: queue.tasksPerSession,
      moved: (uid) => moves.look(uid),
      tool: ({ tenant: of, session: id }, name) => registry.live(of, id).get(name),
      wakes: wakesOf(options.wake, {
        clock,
        soon: () => scheduler?.written(),
        drives: (tool) => turns.tools.includes(tool),
      }),
      ask: (owner, call, how) =>
        askTask({ sizes, sealFor, toolsOf: (of) => registry.live(of.tenant, of.session) }, owner, call, how),
    }
    const scheduling = { ...background, most, mutex: new KeyedMutex(), due: (at: number) => scheduler?.soon(at) }
    const tasksHost: TasksHost = { ...background, schedules: (owner, by) => openSchedules(scheduling, owner, by) }
    const turns = openTurns({
      background,
      batches,
      records,
      shown,
      sizes,
      poisonAfter,
      sealAll,
      models: options.models ?? [],
      frames: options.frames ?? [],
      switches,
      redact,
      searchFrom: searchFrom(options.toolSearch),
      tools: (of) => live(of.tenant, of.session),
      live: (about, type, body) => feed.publish(liveEvent(about, type, body, clock)),
    })
    const pipeline = callPipeline({
      toolsOf: (request) => standing.of(request),
      away: () => registry.away,
      clock,
      logger,
      redact,
      alarms: new TimeoutTimers(clock),
      queue,
      apps,
      hooks,
      policies,
      remembered: (of) => people.remembered(of),
      connection: (of, provider) => people.connection(of, provider),
      openSecret: (wait, sealed) => people.openSecret(wait, sealed),
      budgets,
      sizes,
      poisonAfter,
      nested: (parent, calls, how) => batches.nested(parent, calls, how),
      tasks: (of) => openTasks(tasksHost, ownerOf(of), startedBy(of, standing.of(of.request))),
      endOfTask: (of) => endOfTask(store, of),
      wakes: background.wakes,
      trigger: (of, event, payload, how) => emitInBody(scheduling, of, event, payload, how),
      ...turns.inBodies,
      files,
      ...kept,
      outputs: (of) => records.outputs(of),
      live: (about, type, body) => feed.publish(liveEvent(about, type, body, clock)),
    })
    const returning = (records: readonly CallRecord[]): void => batches.returning(records)
    const gone = (position: CallPosition): void => queue.turns.gone(position)
    const { announce } = options
    const { drive, own: chores } = driving({
      calls: pipeline,
      turns: turns.drive,
      ends: ending(scheduling),
      announces:
        announce &&
        announcing({
          announce,
          keys,
          poisonAfter,
          wait: (id) => store.wait(id),
          call: (uid) => store.call(uid),
          clock,
          logger,
        }),
    })
    const runnable = (): readonly string[] => registry.keys.concat(standing.keys, chores, turns.tools)
    const ours = { tools: runnable, unheard: turns.unheard }
    const parts = { store, clock, ids, keys, logger, leaseMs, drive, judge, returning, gone, works, ...ours }
    engine = await LocalEngine.open(parts, (made) => (engine = made))
    queue.inCompany = () => engine.lease.workers > 1
    if (works) scheduler = new Scheduler({ ...background, toleranceMs: most.toleranceMs }, leaseMs / 3)
    registry.onChange(() => {
      standing.changed()
      engine.look()
      scheduler?.look()
    })
    const cancel = (uid: string, why: { reason: string; by: string | null }): Promise<boolean> =>
      engine.cancel(uid, why)
    const documents: KeepHost = { store, clock, cancel }
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
            people,
            cancel,
            tasks: (owner) => openTasks(tasksHost, owner),
            isUnderTask: (uid) => isUnderTask(store, uid),
            end: (owner, how) => endSession(background, owner, how),
            switches,
            turn: (place, turn, first) => turns.start(place, turn, first),
            messages: (of) => turns.messages(of),
            usage: (of) => turns.usage(of),
            notices: (of) => openNotices(background, of),
            files,
            ...kept,
            schedules: (owner) => openSchedules(scheduling, owner),
            triggers: (owner) => openTriggers(scheduling, owner),
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
        const checked = checkedAnswer(answer, sizes.result)
        return 'problems' in checked ? { answer: 'invalid', problems: checked.problems } : engine.resolve(key, checked)
      },
      async emit(event, payload, how) {
        checkEmit(how, ['key', 'session', 'tenant'])
        return emit(scheduling, { tenant: how?.tenant ?? 'default', session: how?.session }, event, payload, how?.key)
      },
      inbox: (query) => people.inbox(query),
      decide: (id, decision) => people.decide(id, decision),
      rules: people.rules,
      connections: people.connections,
      explain: (call) =>
        explainCall(
          { toolsOf: (...of) => registry.live(...of), policies, remembered: people.remembered, clock, logger },
          call,
        ),
      async diagnostics(uid) {
        const { trouble = null } = (await store.call(uid)) ?? {}
        return trouble === null ? undefined : (JSON.parse(trouble) as Diagnostics)
      },
      events: feed.reader(),
      prune: (query) => prune(documents, query),
      erase: (query) => erase(documents, query),
      health: () => checkHealth({ store, clock, tools: runnable }),
      async close({ grace = '5s' } = {}) {
        const graceMs = milliseconds(grace, 'grace')
        closing ??= (async () => {
          closed.abort(new PawlError('runtime_closed'))
          try {
            await scheduler?.close()
            await engine.close(graceMs)
          } finally {
            await registry.close()
            feed.close()
            moves.close()
            turns.close()
            release()
            if (own) await inner.close()
          }
        })()
        return closing
      },
    }
  } catch (error) {
    await registry.close()
    release()
    if (own) await inner.close()
    throw error
  }
}
