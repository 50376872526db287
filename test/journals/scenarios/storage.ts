// Data that a session stores besides its calls: files, values, secrets, provider pins; and its erasure.

import type { Provider, Session } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import type { Scenario, World } from '../scenario.ts'
import { batch, calls, object, work } from './kit.ts'

const code = (error: { code: string }): string => error.code
const on =
  (happens: (session: Session, world: World) => Promise<unknown>): Scenario =>
  async (world) =>
    happens((await world.run([])).session('s'), world)

/** Creates a session with data of every kind. */
async function filled(world: World): Promise<{ session: Session; runtime: Awaited<ReturnType<World['run']>> }> {
  const tools = [
    work((input) => input),
    work((_, ctx) => ctx.task?.id, { name: 'report', onCrash: 'rerun', background: true }),
  ]
  const runtime = await world.run(tools, {
    models: [scriptedModel(['Hello.'], { name: 'm' })],
    budgets: { session: { calls: 100 } },
  })
  const session = runtime.session('s')
  await world.outcome(session.run(calls, batch))
  await session.files.write('/a.txt', 'a')
  await session.values.set('k', 1)
  await session.secrets.set('token', 'a-secret-of-some-length')
  await session.tasks.start({ tool: 'report', id: 'task-1' })
  await session.schedules.create({ tool: 'report', cron: '0 0 * * *', id: 'daily' })
  await session.triggers.subscribe({ event: 'e', message: 'm', id: 'x' })
  await session.triggers.emit('e', 1, { key: '1' })
  await world.outcome(session.turn({ model: 'm', message: 'Hi', id: 'turn-1' }).outcome)
  await world.advance('1m')
  return { session, runtime }
}

const provider = (description: string): Provider => ({
  name: 'shop',
  trusted: true,
  list: () => [{ name: 'buy', description }],
  resolve: () => work(() => 'bought', { name: 'buy', description, input: object, approval: 'never' }),
})

export const storage: Readonly<Record<string, Scenario>> = {
  'files are written, moved and removed': on(async ({ files }) => {
    const { hash } = await files.write('/notes/a.md', 'one')
    await files.write('/notes/a.md', 'two', { ifHash: hash })
    const changed = await files.write('/notes/a.md', 'three', { ifHash: hash }).catch(code)
    await files.makeDirectory('/empty')
    await files.move('/notes/a.md', '/empty/b.md')
    await files.write('/big.bin', new Uint8Array(300_000))
    return [
      changed,
      await files.remove('/empty', { recursive: true }),
      await files.remove('/none'),
      (await files.list('/')).entries,
    ]
  }),
  'a body writes a file, dies and writes it again': async (world) => {
    const writes = work(
      async (_, ctx) => ((await ctx.files.write('/a.txt', `attempt ${ctx.attempt}`)).path, ctx.attempt),
      {
        onCrash: 'rerun',
      },
    )
    const first = await world.open({ tools: [writes] }, { event: 'call.settled', when: 'before' })
    void first.runtime.session('s').run(calls, batch)
    await world.advance('1s')
    const session = (await world.run([writes])).session('s')
    await world.advance('31s')
    await world.outcome(session.run(calls, batch))
    return (await session.files.read('/a.txt')).text
  },
  'values are set, compared and deleted': on(async ({ values }) => {
    const { revision } = await values.set('a', { n: 1 })
    await values.set('a', { n: 2 }, { ifRevision: revision })
    const changed = await values.set('a', 3, { ifRevision: revision }).catch(code)
    await values.set('b', null, { ifRevision: null })
    return [changed, await values.list(), await values.delete('a'), await values.delete('a')]
  }),
  'a body sets a value, dies and sets it once': async (world) => {
    const sets = work(
      async (_, ctx) => {
        const before = ((await ctx.values.get('n'))?.value ?? 0) as number
        await ctx.values.set('n', before + 1)
        await ctx.values.delete('none')
        return ctx.attempt
      },
      { onCrash: 'rerun' },
    )
    const first = await world.open({ tools: [sets] }, { event: 'value.changed', when: 'after' })
    void first.runtime.session('s').run(calls, batch)
    await world.advance('1s')
    const session = (await world.run([sets])).session('s')
    await world.advance('31s')
    return [await world.outcome(session.run(calls, batch)), await session.values.get('n')]
  },
  'secrets are set, used and deleted': async (world) => {
    const uses = work(
      async (_, ctx) => {
        await ctx.secrets.set('own', 'a-secret-of-the-body')
        const reserved = await ctx.secrets.set('token', 'another-secret').catch(code)
        return { token: await ctx.secrets.get('token'), reserved }
      },
      { onCrash: 'rerun' },
    )
    const session = (await world.run([uses])).session('s')
    await session.secrets.set('token', 'a-secret-of-the-host', { tools: ['work'] })
    const outcomes = await world.outcome(session.run(calls, batch))
    return [
      outcomes,
      await session.secrets.list(),
      await session.secrets.delete('own'),
      await session.secrets.delete('none'),
    ]
  },
  'a provider changes a tool, which is in quarantine until it is accepted': async (world) => {
    const before = await world.open({ providers: [provider('Buys')] })
    await world.outcome(before.runtime.session('s').run([{ id: 'a', name: 'buy', input: {} }], { batch: 'b1' }))
    await before.runtime.close()
    const runtime = await world.run([], { providers: [provider('Buys everything')] })
    const session = runtime.session('s')
    await session.loadTools()
    const refused = await world.outcome(session.run([{ id: 'a', name: 'buy', input: {} }], { batch: 'b2' }))
    const [change] = await runtime.quarantine.list()
    const { provider: of = '', tool = '', now = '' } = change ?? {}
    await runtime.quarantine.accept({ provider: of, tool, fingerprint: now, by: 'user:ada' })
    return {
      change,
      refused,
      after: await world.outcome(session.run([{ id: 'a', name: 'buy', input: {} }], { batch: 'b3' })),
    }
  },
  'old calls are pruned': async (world) => {
    const { runtime, session } = await filled(world)
    await session.end()
    await world.advance('10s')
    const none = await runtime.prune({ olderThan: '1d' })
    await world.advance('2d')
    return [none, await runtime.prune({ olderThan: '1d' })]
  },
  'a session is erased': async (world) => {
    const { runtime } = await filled(world)
    return world.outcome(runtime.erase({ session: 's', open: 'cancel' }))
  },
  'tokens are created, revoked, pruned and erased with their tenant': async (world) => {
    const runtime = await world.run([])
    const { token, ...facts } = await runtime.tokens.create({
      name: 'ci',
      roles: ['caller', 'viewer'],
      tenant: 'acme',
      principal: 'service:ci',
      expiresIn: '1d',
      by: 'user:ada',
    })
    const { id } = await runtime.tokens.create({ name: 'root', roles: ['admin'], tenant: null })
    const revoked = [
      await runtime.tokens.revoke(id, { by: 'user:ada', tenant: 'acme' }),
      await runtime.tokens.revoke(id, { by: 'user:ada' }),
      await runtime.tokens.revoke(id, { by: 'user:bea' }),
    ]
    const verified = await runtime.tokens.verify(token)
    await world.advance('1h')
    const pruned = await runtime.prune({ olderThan: '1m' })
    const erased = await runtime.erase({ tenant: 'acme' })
    return { facts, revoked, verified, pruned, erased, left: await runtime.tokens.list() }
  },
  'a session with an open call is not erased, until the call is cancelled': async (world) => {
    const runtime = await world.run([work((_, ctx) => ctx.later({ deadline: '1h' }), { onCrash: 'rerun' })])
    const running = runtime.session('s').run(calls, batch)
    await world.advance('1s')
    const refused = await runtime.erase({ session: 's' }).catch(code)
    const erased = await world.outcome(runtime.erase({ session: 's', open: 'cancel' }))
    return [refused, erased, await world.outcome(running).catch(code)]
  },
  'a tenant is erased': async (world) => {
    const { runtime } = await filled(world)
    return world.outcome(runtime.erase({ tenant: 'default', open: 'cancel' }))
  },
}
