import { agent, createRuntime, type ModelRequest, type Runtime, type Tool, tool } from 'pawl'
import { openaiTools } from 'pawl/openai'
import { anthropicTools } from 'pawl/anthropic'
import { aiTools } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { dieAfter, keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, stores } from '../kit/open-runtime.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'

const open = opening()
const input = { type: 'object' } as const
const named = (name: string, more: object = {}): Tool =>
  tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `${name} ran`, ...more })
const names = (request: ModelRequest | undefined): string[] => request?.tools.map(({ name }) => name) ?? []

for (const [kind, fresh] of stores)
  describe(`capabilities on ${kind}`, () => {
    test('SESS-1: a session tool is available although a disabled capability has the same name', async () => {
      const { runtime, clock } = await open({ capabilities: [{ name: 'files', tools: [named('read')] }] }, fresh)
      const session = runtime.session('s', { tools: [named('read', { execute: () => 'my own' })] })
      const model = scriptedModel([{ call: { name: 'read' } }, ({ last }) => last])
      expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { value: { text: 'my own' } },
      })
      expect(await after(session.run([{ id: 'x', name: 'read' }]), clock)).toMatchObject({
        value: [{ value: 'my own' }],
      })
    })

    test('SESS-1: task tools are offered only while an enabled tool can run in the background', async () => {
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

    test('SESS-1: hooks of a capability apply to its running tool even if it is switched off', async () => {
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

    test('SESS-1: a disabled tool named in a frame is neither found nor started, even after a crash', async () => {
      for (const crashing of ['tool_search', 'spawn_background']) {
        const { clock, store } = fresh()
        const shared = keepOpen(store)
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
        const first = dieAfter(dying, (change) => change.insertCall?.tool === crashing)
        const options = {
          clock,
          logger: quiet,
          tools: [own],
          models: [model],
          capabilities: [{ name: 'web', tools: [off] }],
        }
        const ask = { model, message: 'Go', id: 't', tools: ['own', 'export_all', 'spawn_background'] }
        ignoreOutcome((await createRuntime({ ...options, store: first })).session('s').turn(ask))
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

    test('SESS-1: adapters list exactly the tools that can run', async () => {
      const { runtime, clock } = await open(
        { tools: [named('own')], capabilities: [{ name: 'files', tools: [named('read')] }] },
        fresh,
      )
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

    test('CALL-6: a repeated batch returns its outcome after the capability is switched off', async () => {
      const { runtime, clock } = await open({ capabilities: [{ name: 'files', tools: [named('read')] }] }, fresh)
      const session = runtime.session('s', { capabilities: ['files'] })
      const calls = [{ id: 'x', name: 'read' }]
      await after(session.run(calls, { batch: 'b' }), clock)
      await session.capabilities.switchOff('files')
      expect(await after(session.run(calls, { batch: 'b' }), clock)).toMatchObject({ value: [{ status: 'success' }] })
    })

    test('SESS-1: a model cannot schedule a tool whose capability is off', async () => {
      let ran = 0
      const off = named('export_all', { background: true, execute: () => void ran++ })
      const { runtime, clock } = await open(
        { tools: [named('own', { background: true })], capabilities: [{ name: 'web', tools: [off] }] },
        fresh,
      )
      const session = runtime.session('s')
      const model = scriptedModel([
        {
          call: {
            name: 'spawn_background',
            input: { tool: 'export_all', args: {}, schedule: { cron_expression: '* * * * *' } },
          },
        },
        ({ last }) => last,
      ])
      expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { value: { text: expect.stringContaining('Unknown tool') } },
      })
      expect(ran).toBe(0)
    })

    test('SESS-6: switching a capability on or off applies to agents started later', async () => {
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

    test('SESS-1: session.tools includes the tools of capabilities given with the session', async () => {
      const { runtime, clock } = await open(
        { tools: [named('own')], capabilities: [{ name: 'files', tools: [named('read')] }] },
        fresh,
      )
      const session = runtime.session('s', { capabilities: ['files'] })
      expect((await session.loadTools()).map(({ name }) => name)).toEqual(['own', 'read'])
      expect(session.tools.map(({ name }) => name)).toEqual(['own', 'read'])
      void clock
    })
  })

test('SESS-1: an invalid capability definition is rejected', async () => {
  const bad = (given: unknown): Promise<Runtime> =>
    createRuntime({ store: 'memory:', logger: quiet, capabilities: given as never })
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
