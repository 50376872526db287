// Events of session changes that belong to no call, each committed with its change.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, type FeedEvent } from 'pawl'
import { manualClock, memoryStore, scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { type Bench, onEachStore } from '../kit/stores/local-stores.ts'
import { echo, facts, told } from '../kit/feed-reader.ts'
import { rerunTool } from '../kit/simple-tools.ts'

onEachStore('session events', (bench: Bench) => {
  test('FEED-1: messages, capability switches and the session end are events', async () => {
    const capabilities = [
      { name: 'files', tools: [] },
      { name: 'web', tools: [], requires: ['files'] },
    ]
    const runtime = await bench.open([echo], { capabilities })
    const session = runtime.session('s')
    await session.messages.send('The word is hush-hush', { id: 'm1' })
    await session.messages.send('The word is hush-hush', { id: 'm1' }) // duplicate id
    await session.messages.send('Later', { id: 'm2', when: 'after' })
    await session.capabilities.switchOn('web')
    await session.capabilities.switchOn('web')
    await session.capabilities.switchOff('web')
    await session.capabilities.switchOff('web')
    await session.end({ by: 'user:bea', reason: 'Enough of hush-hush' })
    await session.end()
    const all = await told(runtime)
    expect(facts(all)).toEqual([
      { type: 'message.sent', message: 'm1', when: 'next' },
      { type: 'message.sent', message: 'm2', when: 'after' },
      { type: 'capability.switched', name: 'web', on: true },
      { type: 'capability.switched', name: 'files', on: true },
      { type: 'capability.switched', name: 'web', on: false },
      { type: 'session.ended', by: 'user:bea' },
    ])
    expect(JSON.stringify(all)).not.toContain('hush')
  })

  test('FEED-1 SESS-6: an agent start is an event, and its session inherits capabilities', async () => {
    const model = scriptedModel(['Done'], { name: 'small' })
    const helper = agent({ name: 'helper', description: 'Helps', model: 'small' })
    const runtime = await bench.open([echo, helper], { models: [model], capabilities: [{ name: 'web', tools: [] }] })
    const session = runtime.session('s')
    await session.capabilities.switchOn('web')
    await session.run([{ id: 'a', name: 'helper', input: { task: 'Help' } }])
    const all = await told(runtime)
    const started = all.find(({ type }) => type === 'agent.started')
    expect(started).toMatchObject({ session: 's', call: expect.stringMatching(/./) })
    const { session: below } = (started as FeedEvent).body as { session: string }
    expect(facts(all, below)[0]).toEqual({ type: 'capability.switched', name: 'web', on: true })
    expect(all.filter(({ type }) => type === 'agent.started')).toHaveLength(1)
  })

  test.each(['in the store', 'in a folder'])(
    'FEED-1: files %s: writes, moves and removals by program or body are events',
    async (where) => {
      const folder = mkdtempSync(join(tmpdir(), 'pawl-feed-'))
      const writes = rerunTool('writes', async (_, ctx) => void (await ctx.files.write('/b.txt', 'hush-hush')))
      try {
        const options = where === 'in a folder' ? { files: { folder: () => folder } } : {}
        const runtime = await bench.open([echo, writes], options)
        const { files, ...session } = runtime.session('s')
        await files.write('/a/x.txt', 'hush-hush')
        await files.makeDirectory('/d')
        await files.makeDirectory('/d')
        await files.move('/a/x.txt', '/d/y.txt')
        await files.remove('/d', { recursive: true })
        await files.remove('/d')
        await expect(files.write('/a', 'a directory')).rejects.toMatchObject({ code: 'file_is_directory' })
        await session.run([{ id: 'a', name: 'writes' }])
        const all = (await told(runtime)).filter(({ session: own }) => own === 's')
        expect(facts(all)).toEqual([
          { type: 'file.changed', path: '/a/x.txt', change: 'written' },
          { type: 'file.changed', path: '/d', change: 'made' },
          { type: 'file.changed', path: '/a/x.txt', change: 'moved', to: '/d/y.txt' },
          { type: 'file.changed', path: '/d', change: 'removed' },
          { type: 'file.changed', path: '/b.txt', change: 'written' },
        ])
        expect(all.map(({ call }) => call !== '')).toEqual([false, false, false, false, true])
        expect(JSON.stringify(all)).not.toContain('hush')
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )

  test('FEED-1 DUR-12: value, secret and connection events contain names but no contents', async () => {
    const sets = rerunTool('sets', async (_, ctx) => {
      await ctx.values.set('b', 'hush-hush')
      await ctx.values.delete('none')
      await ctx.secrets.set('own', 'hush-hush-token')
    })
    const runtime = await bench.open([echo, sets])
    const { values, secrets, ...session } = runtime.session('s')
    await values.set('a', 'hush-hush')
    await expect(values.set('a', 'x', { ifRevision: 99 })).rejects.toMatchObject({ code: 'value_changed' })
    await values.delete('a')
    await values.delete('a')
    await secrets.set('key', 'hush-hush-key')
    await secrets.delete('key')
    await session.run([{ id: 'a', name: 'sets' }])
    // A secret inside a key is redacted.
    await values.set('of hush-hush-key', 1)
    await runtime.connections.set(
      { provider: 'github', principal: 'user:bea' },
      { token: 'hush-hush-pat', by: 'user:bea' },
    )
    await runtime.connections.remove({ provider: 'github', principal: 'user:bea' }, { by: 'user:cy' })
    await runtime.connections.remove({ provider: 'github', principal: 'user:bea' }, { by: 'user:cy' })
    const all = await told(runtime)
    expect(facts(all)).toEqual([
      { type: 'value.changed', key: 'a', change: 'set' },
      { type: 'value.changed', key: 'a', change: 'deleted' },
      { type: 'secret.changed', name: 'key', change: 'set' },
      { type: 'secret.changed', name: 'key', change: 'deleted' },
      { type: 'value.changed', key: 'b', change: 'set' },
      { type: 'secret.changed', name: 'own', change: 'set' },
      { type: 'value.changed', key: 'of [redacted]', change: 'set' },
    ])
    expect(facts(all, '')).toEqual([
      { type: 'connection.changed', provider: 'github', change: 'set', by: 'user:bea' },
      { type: 'connection.changed', provider: 'github', change: 'removed', by: 'user:cy' },
    ])
    expect(JSON.stringify(all)).not.toContain('hush')
  })

  test('FEED-1: a reader on another runtime receives events immediately', async () => {
    const shared = bench.survives ? {} : { store: memoryStore() }
    const runtime = await bench.open([echo], shared)
    const other = await bench.open([echo], shared)
    const heard = (async () => {
      const taken: unknown[] = []
      for await (const { type, body } of other.session('s').events()) {
        taken.push({ type, ...body })
        if (taken.length === 2) break
      }
      return taken
    })()
    await other.session('mark').run([{ id: 'first', name: 'echo' }])
    await runtime.session('s').values.set('a', 1)
    await runtime.session('s').files.write('/a.txt', 'a')
    expect(await heard).toEqual([
      { type: 'value.changed', key: 'a', change: 'set' },
      { type: 'file.changed', path: '/a.txt', change: 'written' },
    ])
  })

  test('FEED-1 DUR-10: events without a call are removed by erase and prune', async () => {
    const clock = manualClock()
    const runtime = await bench.open([echo], { clock })
    await runtime.session('s').values.set('a', 1)
    await runtime.session('t').values.set('a', 1)
    await runtime.connections.set({ provider: 'github' }, { token: 'abcdefgh', by: 'user:bea' })
    expect(await runtime.erase({ session: 's' })).toMatchObject({ events: 1 })
    await clock.advance('2d')
    await runtime.session('t').values.set('b', 1)
    // The value of `t`, the connection, and the event of the erasure itself.
    expect(await runtime.prune({ olderThan: '1d' })).toMatchObject({ events: 3 })
    const rest: unknown[] = []
    for await (const { session, body, seq } of runtime.events()) {
      rest.push({ session, seq, ...body })
      break
    }
    expect(rest).toEqual([{ session: 't', seq: 2, key: 'b', change: 'set' }])
  })
})
