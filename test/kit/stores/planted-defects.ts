// Deliberate defects. The tests plant each one and expect the driver under test to detect it.

import { type Clock, systemClock } from '../../../src/core/clock.ts'
import type { Change, Guard, Store, DocumentWrite } from '../../../src/store/store.ts'

/** Information about the worker that a defect is planted in. */
export interface Soil {
  readonly clock: Clock
}

type Break = (store: Store, soil: Soil) => Store

const without = (change: Change, kind: Guard['kind']): Change => ({
  ...change,
  guards: change.guards.filter((guard) => guard.kind !== kind),
})

/** Applies a change to every write of the store, awaited or not. */
const writing = (store: Store, change: (change: Change) => Change): Store => ({
  ...store,
  commit: (given) => store.commit(change(given)),
  write: (given, heard, how) => store.write(change(given), heard, how),
})

export const plants: Readonly<Record<string, Break>> = {
  /** The holder's writes are not checked against the fence. */
  'no fence': (store) => writing(store, (change) => without(change, 'holds')),

  /** A step key does not include its call, so siblings share steps. */
  'step key without its call': (store) => ({
    ...writing(store, (change) =>
      change.steps ? { ...change, steps: change.steps.map((step) => ({ ...step, call: '' })) } : change,
    ),
    steps: () => store.steps(''),
  }),

  /** A write is acknowledged before it is made. */
  'acknowledged before it is written': (store) => ({
    ...store,
    commit: async (change) => {
      setTimeout(() => void store.commit(change).catch(() => {}), 4)
      return { ok: true }
    },
    write: (change, heard) => {
      setTimeout(() => store.write(change, () => {}), 4)
      queueMicrotask(() => heard({ ok: true }))
    },
  }),

  /** The end of a step is not recorded when its value is used. */
  'step ends are not recorded': (store) => writing(store, (change) => ({ ...change, steps: [] })),

  /** The start of a body that must not run twice is acknowledged before it is durable. */
  'intent not durable': (store) => ({
    ...store,
    write: (change, heard, how) => {
      if (!change.events.some(({ type }) => type === 'call.started')) return store.write(change, heard, how)
      store.write(change, () => {}, { ride: true })
      queueMicrotask(() => heard({ ok: true }))
    },
  }),

  /** An attempt is counted when its body ends, not when it starts. */
  'attempt counted late': (store) =>
    writing(store, (change) => {
      const { updateCall } = change
      if (updateCall?.progress.state !== 'running') return change
      const { progress } = updateCall
      return { ...change, updateCall: { ...updateCall, progress: { ...progress, attempt: progress.attempt - 1 } } }
    }),

  /** A lease ends by the local clock of the worker. */
  'lease by the local clock': (store, { clock }) => ({
    ...store,
    renew: (worker, ms) => store.renew(worker, ms - (clock.monotonic() % 5_000)),
  }),

  /** A claim does not check whether the owner is alive. */
  'claims from the living': (store) => {
    let self = ''
    return {
      ...store,
      renew(worker, ms) {
        self = worker
        known.add(worker)
        return store.renew(worker, ms)
      },
      async claim(worker, tools, limit) {
        for (const other of known) if (other !== self) await store.leave(other)
        return store.claim(worker, tools, limit)
      },
    }
  },

  /** An answer that arrives before the wait is read is accepted and lost. */
  'early answers are lost': (store) => ({
    ...store,
    async commit(change) {
      const wait = change.resolveWait && (await store.wait(change.resolveWait.id))
      const call = wait && (await store.call(wait.call))
      return call && call.state !== 'parked' ? { ok: true } : store.commit(change)
    },
  }),

  /** The second answer replaces the first. */
  'waits are answered twice': (store) => writing(store, (change) => without(change, 'open')),

  /** The terms of a call, such as its deadline, are lost when it is claimed. */
  'deadline forgotten': (store) => ({
    ...store,
    async claim(worker, tools, limit) {
      const forget = (options: string | null): string | null =>
        options && JSON.stringify({ ...(JSON.parse(options) as object), deadline: undefined, timeout: undefined })
      return (await store.claim(worker, tools, limit)).map((call) => ({ ...call, options: forget(call.options) }))
    },
  }),

  /** Events are missing from the feed. */
  'events are lost': (store) =>
    writing(store, (change) => (change.events.length > 0 ? { ...change, events: change.events.slice(1) } : change)),

  /** Events appear twice in the feed. */
  'events are doubled': (store) =>
    writing(store, (change) => ({ ...change, events: [...change.events, ...change.events] })),

  /** A closing worker keeps its lease and its calls. */
  'nothing is handed back': (store) => ({
    ...writing(store, (change) =>
      change.updateCall?.release &&
      change.updateCall.progress.state !== 'settled' &&
      change.updateCall.progress.state !== 'parked'
        ? { guards: [], events: [] }
        : change,
    ),
    leave: () => {},
  }),

  /** A cancel is known only to the process that received it. */
  'cancel forgotten': (store) =>
    writing(store, (change) => ({ ...change, steps: (change.steps ?? []).filter(({ key }) => key !== 'cancel') })),

  /** The time of the next attempt is not recorded. */
  'retry delay forgotten': (store) =>
    writing(store, (change) => ({
      ...change,
      steps: (change.steps ?? []).map((step) => (step.key.startsWith('retry:') ? { ...step, value: '0' } : step)),
    })),

  /** A resumed sleep starts again, with a shorter duration. */
  'sleeps are forgotten': (store) =>
    writing(store, (change) => ({
      ...change,
      steps: (change.steps ?? []).map((step) => (step.key.startsWith('sleep:') ? { ...step, value: '0' } : step)),
    })),

  /** Keys and limits apply only within one worker. */
  'keys of one worker only': (store) =>
    writing(store, (change) => ({ ...change, takeSlots: undefined, queueForSlot: undefined }) as unknown as Change),

  /** A settled call can be settled again. */
  'outcomes are overwritten': (store) => ({
    ...writing(store, (change) =>
      change.updateCall?.progress.state === 'settled' ? without(change, 'holds') : change,
    ),
  }),
}

const withoutDocuments = (change: Change, isDropped: (row: DocumentWrite) => boolean): Change =>
  change.documents ? { ...change, documents: change.documents.filter((row) => !isDropped(row)) } : change

/** Defects of turns, which only a history with turns can show. */
export const turnPlants: Readonly<Record<string, Break>> = {
  /** A turn does not see that another one has the session. */
  'turns do not claim the session': (store) => ({
    ...store,
    async document(name) {
      const found = await store.document(name)
      return found && name.of === 'conversation'
        ? { ...found, value: JSON.stringify({ ...(JSON.parse(found.value) as object), turn: null }) }
        : found
    },
    unsettled: async (query) => (query.of ? [] : store.unsettled(query)),
  }),

  /** The results of calls are not added to the conversation. */
  'tool results are lost': (store) =>
    writing(store, (change) =>
      withoutDocuments(change, ({ of, value }) => of === 'message' && value?.includes('"role":"tool"') === true),
    ),

  /** The step of an answer is recorded without its message. */
  'answers are not recorded': (store) =>
    writing(store, (change) =>
      withoutDocuments(change, ({ of, value }) => of === 'message' && value?.includes('"role":"assistant"') === true),
    ),

  /** A message of the user is read by more than one request. */
  'a read message stays unread': (store) =>
    writing(store, (change) => withoutDocuments(change, ({ of, value }) => of === 'message-sent' && value === null)),

  /** The end of a turn leaves the session claimed. */
  'the session is not freed': (store) =>
    writing(store, (change) =>
      withoutDocuments(change, ({ of, value }) => of === 'conversation' && value?.includes('"turn":null') === true),
    ),
}

/** All workers seen by a planted defect. */
const known = new Set<string>()

export const broken = (store: Store, plant: string | undefined, soil: Soil = { clock: systemClock }): Store =>
  plant === undefined ? store : ({ ...plants, ...turnPlants }[plant] as Break)(store, soil)
