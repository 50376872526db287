// Every public method of a runtime and a session that changes the store appends an event in the commit of the change.
// A new method needs a row in the table below, or the first test fails.

import { createRuntime, type Runtime, type Session } from 'pawl'
import { manualClock, type ManualClock, memoryStore, scriptedModel } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventType } from '../../src/store/records/event.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { Changing, changed, mail } from '../kit/changing-provider.ts'
import { argumentTool, rerunTask, simpleTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

interface World {
  readonly runtime: Runtime
  readonly session: Session
  readonly clock: ManualClock
  readonly provider: Changing
  readonly keys: string[]
  /** Runs until the condition holds. */
  until(holds: () => boolean | Promise<boolean>): Promise<void>
}
interface Row {
  readonly event: EventType
  /** Prepares the change; its commits are not checked. */
  readonly before?: (world: World) => Promise<unknown>
  readonly change: (world: World) => unknown
  /** The event follows the change in a commit of its own. */
  readonly follows?: true
}

/** Reads, and what only this process has: tools, providers and handles. */
const changesNothing = [
  'runtime.session',
  'runtime.tools.add',
  'runtime.tools.remove',
  'runtime.tools.list',
  'runtime.tools.onChange',
  'runtime.tools.provide',
  'runtime.tools.withdraw',
  'runtime.quarantine.list',
  'runtime.decided',
  'runtime.inbox',
  'runtime.rules.list',
  'runtime.connections.list',
  'runtime.links.sign',
  'runtime.links.verify',
  'runtime.tokens.verify',
  'runtime.tokens.list',
  'runtime.explain',
  'runtime.sessions.list',
  'runtime.calls.get',
  'runtime.calls.recent',
  'runtime.cursor',
  'runtime.diagnostics',
  'runtime.events',
  'runtime.health',
  'runtime.observe',
  'runtime.policyRules',
  'runtime.recentEvents',
  'runtime.schedules.stopped',
  'runtime.schedules.upcoming',
  'runtime.tools.providers',
  'runtime.tools.reconnect',
  'runtime.close',
  'session.capabilities.list',
  'session.messages.list',
  'session.turns.get',
  'session.turns.open',
  'session.turns.after',
  'session.turns.uiMessages',
  'session.messages.waiting',
  'session.redact',
  'session.usage',
  'session.recording',
  'session.pendingClientCalls',
  'session.events',
  'session.calls.get',
  'session.calls.list',
  'session.tasks.get',
  'session.tasks.result',
  'session.tasks.list',
  'session.tasks.wait',
  'session.tasks.events',
  'session.tasks.messages',
  'session.files.read',
  'session.files.stat',
  'session.files.list',
  'session.files.glob',
  'session.values.get',
  'session.values.list',
  'session.secrets.has',
  'session.secrets.list',
  'session.schedules.get',
  'session.schedules.list',
  'session.schedules.nextTimes',
  'session.schedules.history',
  'session.triggers.get',
  'session.triggers.list',
  'session.notices.list',
  'session.outputs.read',
  'session.attachments.read',
]

const ada = { by: 'user:ada' }
const daily = { id: 'd', cron: '0 9 * * *', tool: 'job' }
const parked = async ({ session, until }: World, name: string): Promise<void> => {
  void session.run([{ id: 'a', name }]).catch(() => {})
  await until(async () => (await session.calls.get('a'))?.state === 'parked')
}
const startJob = ({ session }: World) => session.tasks.start({ tool: 'job', id: 'j', input: {} })
const inboxId = async ({ runtime }: World): Promise<string> => (await runtime.inbox())[0]?.id ?? ''

const rows: Readonly<Record<string, Row>> = {
  'runtime.quarantine.accept': {
    event: 'definition.changed',
    before: async ({ session, provider, clock }) => {
      await session.loadTools()
      await provider.become(clock, mail(changed))
      await session.loadTools()
    },
    async change({ runtime }) {
      const [found] = await runtime.quarantine.list()
      const { provider = '', tool = '', now = '' } = found ?? {}
      await runtime.quarantine.accept({ provider, tool, fingerprint: now, ...ada })
    },
  },
  'runtime.resolve': {
    event: 'wait.resolved',
    before: (world) => parked(world, 'waits'),
    change: ({ runtime, keys }) => runtime.resolve(keys.at(-1) ?? '', { value: 1 }),
  },
  'runtime.emit': { event: 'trigger.emitted', change: ({ runtime }) => runtime.emit('paid', {}, { key: 'k' }) },
  'runtime.decide': {
    event: 'decision.made',
    before: (world) => parked(world, 'wipe'),
    change: async (world) => world.runtime.decide(await inboxId(world), { approve: true, ...ada }),
  },
  'runtime.rules.revoke': {
    event: 'rule.revoked',
    async before(world) {
      await parked(world, 'wipe')
      await world.runtime.decide(await inboxId(world), { approve: true, remember: { scope: 'session' }, ...ada })
    },
    async change({ runtime }) {
      const [rule] = await runtime.rules.list({ tenant: 'default' })
      await runtime.rules.revoke(rule?.id ?? '', { tenant: 'default', ...ada })
    },
  },
  'runtime.connections.set': {
    event: 'connection.changed',
    change: ({ runtime }) =>
      runtime.connections.set({ provider: 'p', principal: 'u' }, { token: 't'.repeat(9), ...ada }),
  },
  'runtime.connections.remove': {
    event: 'connection.changed',
    before: ({ runtime }) =>
      runtime.connections.set({ provider: 'p', principal: 'u' }, { token: 't'.repeat(9), ...ada }),
    change: ({ runtime }) => runtime.connections.remove({ provider: 'p', principal: 'u' }),
  },
  'runtime.tokens.create': {
    event: 'token.created',
    change: ({ runtime }) => runtime.tokens.create({ name: 'ci', roles: ['viewer'] }),
  },
  'runtime.tokens.revoke': {
    event: 'token.revoked',
    before: ({ runtime }) => runtime.tokens.create({ name: 'ci', roles: ['viewer'] }),
    async change({ runtime }) {
      const [token] = await runtime.tokens.list()
      await runtime.tokens.revoke(token?.id ?? '', ada)
    },
  },
  'runtime.prune': {
    event: 'records.deleted',
    follows: true,
    async before({ session, clock }) {
      await session.run([{ id: 'a', name: 'quick' }])
      await clock.advance('1h')
    },
    change: ({ runtime }) => runtime.prune({ olderThan: '1m' }),
  },
  'runtime.erase': {
    event: 'records.deleted',
    follows: true,
    before: ({ session }) => session.run([{ id: 'a', name: 'quick' }]),
    change: ({ runtime }) => runtime.erase({ session: 's' }),
  },
  'session.loadTools': { event: 'definition.changed', change: ({ session }) => session.loadTools() },
  'session.run': { event: 'call.received', change: ({ session }) => session.run([{ id: 'a', name: 'quick' }]) },
  'session.call': { event: 'call.received', change: ({ session }) => session.call(quick, {}).outcome },
  'session.turn': {
    event: 'message.added',
    change: ({ session }) => session.turn({ model: 'scripted', message: 'Hello' }).outcome,
  },
  'session.capabilities.switchOn': {
    event: 'capability.switched',
    change: ({ session }) => session.capabilities.switchOn('extra'),
  },
  'session.capabilities.switchOff': {
    event: 'capability.switched',
    before: ({ session }) => session.capabilities.switchOn('extra'),
    change: ({ session }) => session.capabilities.switchOff('extra'),
  },
  'session.messages.send': { event: 'message.sent', change: ({ session }) => session.messages.send('Hello') },
  'session.cancel': {
    event: 'call.cancelling',
    before: (world) => parked(world, 'waits'),
    change: ({ session }) => session.cancel(),
  },
  'session.calls.cancel': {
    event: 'call.cancelling',
    before: (world) => parked(world, 'waits'),
    change: ({ session }) => session.calls.cancel('a'),
  },
  'session.end': { event: 'session.ended', change: ({ session }) => session.end() },
  'session.answer': {
    event: 'wait.resolved',
    before: (world) => parked(world, 'client'),
    change: ({ session }) => session.answer('a', { value: 'here' }),
  },
  'session.supersede': {
    event: 'call.cancelling',
    before: (world) => parked(world, 'wipe'),
    change: ({ session }) => session.supersede(),
  },
  'session.tasks.start': { event: 'task.created', change: startJob },
  'session.tasks.schedule': {
    event: 'schedule.created',
    change: ({ session }) => session.tasks.schedule({ tool: 'job', input: {} }, { cron: '0 9 * * *' }),
  },
  'session.tasks.adopt': {
    event: 'task.created',
    async before({ session, until }) {
      void session.run([{ id: 'a', name: 'job' }]).catch(() => {})
      await until(async () => (await session.calls.get('a'))?.state === 'running')
    },
    change: ({ session }) => session.tasks.adopt('a'),
  },
  'session.tasks.signal': {
    event: 'task.signal',
    before: startJob,
    change: ({ session }) => session.tasks.signal('j', 'go', 1),
  },
  'session.tasks.message': {
    event: 'task.message',
    before: startJob,
    change: ({ session }) => session.tasks.message('j', 'Hello'),
  },
  'session.tasks.cancel': {
    event: 'call.cancelling',
    before: startJob,
    change: ({ session }) => session.tasks.cancel('j'),
  },
  'session.files.write': { event: 'file.changed', change: ({ session }) => session.files.write('/a.txt', 'x') },
  'session.files.makeDirectory': { event: 'file.changed', change: ({ session }) => session.files.makeDirectory('/d') },
  'session.files.remove': {
    event: 'file.changed',
    before: ({ session }) => session.files.write('/a.txt', 'x'),
    change: ({ session }) => session.files.remove('/a.txt'),
  },
  'session.files.move': {
    event: 'file.changed',
    before: ({ session }) => session.files.write('/a.txt', 'x'),
    change: ({ session }) => session.files.move('/a.txt', '/b.txt'),
  },
  'session.values.set': { event: 'value.changed', change: ({ session }) => session.values.set('k', 1) },
  'session.values.delete': {
    event: 'value.changed',
    before: ({ session }) => session.values.set('k', 1),
    change: ({ session }) => session.values.delete('k'),
  },
  'session.secrets.set': {
    event: 'secret.changed',
    change: ({ session }) => session.secrets.set('k', 'hunter2hunter2'),
  },
  'session.secrets.delete': {
    event: 'secret.changed',
    before: ({ session }) => session.secrets.set('k', 'hunter2hunter2'),
    change: ({ session }) => session.secrets.delete('k'),
  },
  'session.schedules.create': { event: 'schedule.created', change: ({ session }) => session.schedules.create(daily) },
  'session.schedules.pause': {
    event: 'schedule.paused',
    before: ({ session }) => session.schedules.create(daily),
    change: ({ session }) => session.schedules.pause('d'),
  },
  'session.schedules.resume': {
    event: 'schedule.resumed',
    async before({ session }) {
      await session.schedules.create(daily)
      await session.schedules.pause('d')
    },
    change: ({ session }) => session.schedules.resume('d'),
  },
  'session.schedules.cancel': {
    event: 'schedule.cancelled',
    before: ({ session }) => session.schedules.create(daily),
    change: ({ session }) => session.schedules.cancel('d'),
  },
  'session.schedules.runNow': {
    event: 'schedule.fired',
    before: ({ session }) => session.schedules.create(daily),
    change: ({ session }) => session.schedules.runNow('d'),
  },
  'session.triggers.subscribe': {
    event: 'trigger.subscribed',
    change: ({ session }) => session.triggers.subscribe({ id: 't', event: 'paid', tool: 'job' }),
  },
  'session.triggers.unsubscribe': {
    event: 'trigger.unsubscribed',
    before: ({ session }) => session.triggers.subscribe({ id: 't', event: 'paid', tool: 'job' }),
    change: ({ session }) => session.triggers.unsubscribe('t'),
  },
  'session.triggers.pause': {
    event: 'trigger.paused',
    before: ({ session }) => session.triggers.subscribe({ id: 't', event: 'paid', tool: 'job' }),
    change: ({ session }) => session.triggers.pause('t'),
  },
  'session.triggers.resume': {
    event: 'trigger.resumed',
    async before({ session }) {
      await session.triggers.subscribe({ id: 't', event: 'paid', tool: 'job' })
      await session.triggers.pause('t')
    },
    change: ({ session }) => session.triggers.resume('t'),
  },
  'session.triggers.emit': {
    event: 'trigger.emitted',
    change: ({ session }) => session.triggers.emit('paid', {}, { key: 'k' }),
  },
  'session.notices.acknowledge': {
    event: 'notice.acknowledged',
    async before({ session, until }) {
      await session.tasks.start({ tool: 'short', id: 'n' })
      await until(async () => (await session.notices.list()).length > 0)
    },
    change: async ({ session }) => session.notices.acknowledge((await session.notices.list()).map(({ id }) => id)),
  },
}

const quick = argumentTool('quick', { type: 'object' }, {}, () => 'done')
const tools = (keys: string[]) => [
  quick,
  rerunTask('job', { timeout: '1d' }, () => new Promise(() => {})),
  rerunTask('short', () => 'done'),
  simpleTool('wipe', { hints: { destructive: true } }, () => 'wiped'),
  simpleTool('waits', async (_, ctx) => {
    const later = await ctx.later({ name: 'signature', deadline: '1d' })
    keys.push(later.key)
    return later
  }),
  simpleTool('client', { client: true } as never, undefined as never),
]

const hasState = ({ guards: _guards, events: _events, ...state }: Change): boolean => Object.keys(state).length > 0

/** Names of all methods, at most two levels deep. */
function methodsOf(of: object, prefix: string): string[] {
  const own = Object.getPrototypeOf(of) as object
  const inherited = own === Object.prototype ? [] : Object.getOwnPropertyNames(own)
  const names = [...Object.keys(of), ...inherited.filter((name) => name !== 'constructor')]
  return names.flatMap((name) => {
    const member = (of as Record<string, unknown>)[name]
    if (typeof member === 'function') return [`${prefix}.${name}`]
    const isPart = typeof member === 'object' && member !== null && !Array.isArray(member)
    return isPart ? methodsOf(member, `${prefix}.${name}`) : []
  })
}

describe('every change is an event', () => {
  let world: World
  let commits: Change[]
  beforeEach(async () => {
    const clock = manualClock()
    const store = memoryStore({ clock })
    commits = []
    const watched: Store = {
      ...store,
      commit: (change) => (commits.push(change), store.commit(change)),
      write: (change, heard, how) => (commits.push(change), store.write(change, heard, how)),
    }
    const keys: string[] = []
    const provider = new Changing([mail()])
    const runtime = await createRuntime({
      store: watched,
      clock,
      logger: quiet,
      tools: tools(keys),
      providers: [provider],
      models: [scriptedModel([{ say: 'Hello' }])],
      capabilities: [{ name: 'extra', description: 'Extra', instructions: 'Be brief' }],
    })
    const until: World['until'] = async (holds) => {
      while (!(await holds())) await clock.advance(10)
    }
    world = { runtime, session: runtime.session('s'), clock, provider, keys, until }
  })
  afterEach(() => world.runtime.close({ grace: 0 }))

  test('FEED-1: every public method is listed as a read or as a change with its event', () => {
    const methods = [...methodsOf(world.runtime, 'runtime'), ...methodsOf(world.session, 'session')]
    expect([...changesNothing, ...Object.keys(rows)].toSorted()).toEqual(methods.toSorted())
  })

  test.for(Object.entries(rows))('FEED-1 POL-9: %s commits its event with the change', async ([, row]) => {
    await row.before?.(world)
    await world.clock.advance(10)
    commits.length = 0
    let isOver = false
    const change = Promise.resolve(row.change(world)).finally(() => (isOver = true))
    await world.until(() => isOver)
    await change
    const withEvent = commits.filter(({ events }) => events.some(({ type }) => type === row.event))
    expect(withEvent).not.toEqual([])
    if (!row.follows) expect(withEvent.every(hasState)).toBe(true)
    // The claim of a session by a turn is a lease, not a change.
    const silent = commits.filter(
      ({ documents = [], events }) => events.length === 0 && documents.some(({ of }) => of !== 'conversation'),
    )
    if (!row.follows) expect(silent).toEqual([])
    // Nothing that the caller passed in confidence is in an event.
    expect(JSON.stringify(commits.flatMap(({ events }) => events))).not.toMatch(/hunter2|ttttt/)
  })
})
