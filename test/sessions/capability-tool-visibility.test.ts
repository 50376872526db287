import { agent, createRuntime, type ModelRequest, type Runtime, type Tool, tool } from 'pawl'
import { openaiTools } from 'pawl/openai'
import { anthropicTools } from 'pawl/anthropic'
import { aiTools } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, stores } from '../kit/open-runtime.ts'

const open = opening()
const input = { type: 'object' } as const
const named = (name: string, more: object = {}): Tool =>
  tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `${name} ran`, ...more })
const names = (request: ModelRequest | undefined): string[] => request?.tools.map(({ name }) => name) ?? []

for (const [kind, fresh] of stores)
  describe(`capabilities on ${kind}`, () => {
    test('SESS-1: a tool of the session is there though a capability that is off has one of the same name', async () => {
      const { runtime, clock } = await open({ capabilities: [{ name: 'files', tools: [named('read')] }] }, fresh)
      const session = runtime.session('s', { tools: [named('read', { execute: () => 'my own' })] })
      const model = scriptedModel([{ call: { name: 'read' } }, ({ last }) => last])
      expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({ value: { value: { text: 'my own' } } })
      expect(await after(session.run([{ id: 'x', name: 'read' }]), clock)).toMatchObject({ value: [{ value: 'my own' }] })
    })

    test('SESS-1: the tools for tasks are there where a tool that is on can run in the background', async () => {
      const { runtime, clock } = await open(
        { tools: [named('own')], capabilities: [{ name: 'web', tools: [named('export', { background: true })] }] },
        fresh,
      )
      const model = scriptedModel([{ when: /./, say: 'ok' }])
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(names(model.requests[0])).toEqual(['own'])
      await session.capabilities.switchOn('web')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(names(model.requests[1])).toContain('spawn_background')
      await session.capabilities.switchOff('web')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(names(model.requests[2])).toEqual(['own'])
    })

    test('SESS-1: while a tool of a capability runs its hooks are asked, also if it was switched off meanwhile', async () => {
      const hooks = [{ name: 'guard', before: () => ({ deny: 'not this' }) }]
      let ran = 0
      const { runtime, clock } = await open(
        { capabilities: [{ name: 'pay', tools: [named('refund', { execute: () => ++ran })], hooks }] },
        fresh,
      )
      const session = runtime.session('s', { capabilities: ['pay'] })
      const model = scriptedModel([{ call: { name: 'refund' } }, 'ok'], {
        wait: async ({ answers }) => {
          if (answers === 0) await session.capabilities.switchOff('pay')
        },
      })
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect([ran, JSON.stringify(model.requests[1]?.messages)]).toEqual([0, expect.stringContaining('not this')])
    })

    test('SESS-1: what a frame names and a capability that is off has can be neither found nor started, also after a crash', async () => {
      for (const crashing of ['tool_search', 'spawn_background']) {
        const { clock, store } = fresh()
        const shared: Store = { ...store, close: async () => {} }
        const dying = mortal(shared)
        let ran = 0
        const own = named('own', { background: true, defer: 'always' })
        const off = named('export_all', { background: true, execute: () => void ran++ })
        const model = scriptedModel(
          [
            crashing === 'tool_search'
              ? { call: { name: 'tool_search', input: { query: 'export' } } }
              : { call: { name: 'spawn_background', input: { tool: 'export_all', args: {} } } },
            ({ last }) => last,
          ],
          { name: 'm' },
        )
        const first: Store = {
          ...dying.store,
          write: (change, heard, how) => {
            dying.store.write(change, heard, how)
            if (change.insertCall?.tool === crashing) dying.die()
          },
          commit: async (change) => {
            const done = dying.store.commit(change)
            if (change.insertCall?.tool === crashing) dying.die()
            return done
          },
        }
        const options = { clock, logger: quiet, tools: [own], models: [model], capabilities: [{ name: 'web', tools: [off] }] }
        const ask = { model, message: 'Go', id: 't', tools: ['own', 'export_all', 'spawn_background'] }
        ;(await createRuntime({ ...options, store: first }))
          .session('s')
          .turn(ask)
          .outcome.catch(() => {})
        await clock.advance('40s')
        const second = await createRuntime({ ...options, store: shared })
        const ended = await after(second.session('s').turn(ask).outcome, clock)
        await second.close({ grace: 0 })
        expect([crashing, ended, ran]).toMatchObject([
          crashing,
          { value: { value: { text: expect.stringMatching(/No tools matched|Unknown tool/) } } },
          0,
        ])
      }
    })

    test('SESS-1: the lists that adapters make of a session are those that can be run', async () => {
      const { runtime, clock } = await open({ tools: [named('own')], capabilities: [{ name: 'files', tools: [named('read')] }] }, fresh)
      const session = runtime.session('s')
      await after(session.loadTools(), clock)
      expect(session.tools.map(({ name }) => name)).toEqual(['own'])
      expect(
        openaiTools(session, { api: 'chat' })
          .map((each) => JSON.stringify(each))
          .join(),
      ).not.toContain('read')
      expect(anthropicTools(session).map(({ name }) => name)).toEqual(['own'])
      expect(Object.keys(aiTools(session))).toEqual(['own'])
    })

    test('CALL-6: a batch that is run again has its outcome, though its capability was switched off meanwhile', async () => {
      const { runtime, clock } = await open({ capabilities: [{ name: 'files', tools: [named('read')] }] }, fresh)
      const session = runtime.session('s', { capabilities: ['files'] })
      const calls = [{ id: 'x', name: 'read' }]
      await after(session.run(calls, { batch: 'b' }), clock)
      await session.capabilities.switchOff('files')
      expect(await after(session.run(calls, { batch: 'b' }), clock)).toMatchObject({ value: [{ status: 'success' }] })
    })

    test('SESS-1: a schedule or trigger that a model makes starts nothing that is off', async () => {
      let ran = 0
      const off = named('export_all', { background: true, execute: () => void ran++ })
      const { runtime, clock } = await open(
        { tools: [named('own', { background: true })], capabilities: [{ name: 'web', tools: [off] }] },
        fresh,
      )
      const session = runtime.session('s')
      const model = scriptedModel([
        { call: { name: 'spawn_background', input: { tool: 'export_all', args: {}, schedule: { cron_expression: '* * * * *' } } } },
        ({ last }) => last,
      ])
      expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { value: { text: expect.stringContaining('Unknown tool') } },
      })
      expect(ran).toBe(0)
    })

    test('SESS-6: what a session switches on or off holds for agents it lets work later', async () => {
      const expert = scriptedModel([{ when: /./, say: 'ok' }], { name: 'expert' })
      const { runtime, clock } = await open(
        {
          tools: [agent({ name: 'ask', description: 'd', model: expert })],
          capabilities: [{ name: 'files', tools: [named('read')], instructions: 'Read.' }],
        },
        fresh,
      )
      const session = runtime.session('s', { capabilities: ['files'] })
      const ask = { call: { name: 'ask', input: { task: 'x' } } }
      const model = scriptedModel([ask, 'ok', ask, 'ok'], { name: 'm' })
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      await session.capabilities.switchOff('files')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(expert.requests.map(names).map((list) => list.includes('read'))).toEqual([true, false])
      expect(expert.requests.map(({ instructions }) => instructions === null)).toEqual([false, true])
    })

    test('SESS-1: a handle that switches on says so in its tools', async () => {
      const { runtime, clock } = await open({ tools: [named('own')], capabilities: [{ name: 'files', tools: [named('read')] }] }, fresh)
      const session = runtime.session('s', { capabilities: ['files'] })
      expect((await session.loadTools()).map(({ name }) => name)).toEqual(['own', 'read'])
      expect(session.tools.map(({ name }) => name)).toEqual(['own', 'read'])
      void clock
    })
  })

test('SESS-1: what a capability cannot have is refused', async () => {
  const bad = (given: unknown): Promise<Runtime> => createRuntime({ store: 'memory:', logger: quiet, capabilities: given as never })
  for (const given of [
    {},
    'x',
    [null],
    ['x'],
    [{ name: 'a', tools: 'x' }],
    [{ name: 'a', tools: {} }],
    [{ name: 'a', limits: { step: 3 } }],
    [{ name: 'a', limits: { time: 3 } }],
    [{ name: 'a', limits: null }],
    [{ name: 'a', requires: 'b' }, { name: 'b' }],
    [{ name: 'a', requires: [{}] }],
    [{ name: 'a', hooks: {} }],
    [{ name: 'a', instructions: 7 }],
    [{ name: 'a', instructions: '\uD800' }],
  ])
    await expect(bad(given), JSON.stringify(given)).rejects.toMatchObject({ code: 'config_invalid' })
})
