import { createRuntime, type Runtime, type RuntimeOptions, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { closedAfterEach, stores } from '../kit/open-runtime.ts'
import { keepOpen } from '../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()
const named = (name: string, more: object = {}) =>
  tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `${name} ran`, ...more })

for (const [kind, fresh] of stores) {
  describe(`capabilities on ${kind}`, () => {
    const seen: string[] = []
    const capabilities = () => [
      { name: 'files', tools: [named('read')], instructions: 'Read before you write.', limits: { steps: 3 } },
      {
        name: 'web',
        tools: [named('fetch'), named('export', { background: true })],
        requires: ['files'],
        hooks: [{ name: 'watch', before: ({ tool: called }: { tool: string }) => void seen.push(called) }],
      },
    ]
    const open = async (
      options: Partial<RuntimeOptions> = {},
    ): Promise<{ runtime: Runtime; clock: ManualClock; store: Store }> => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({
        store,
        clock,
        logger: quiet,
        tools: [named('own')],
        capabilities: capabilities(),
        ...options,
      })
      runtimes.push(runtime)
      return { runtime, clock, store }
    }
    const run = async (runtime: Runtime, clock: ManualClock, session: string, ...names: string[]): Promise<unknown> => {
      const outcomes = await after(
        runtime.session(session).run(names.map((name, at) => ({ id: `${Math.random()}${at}`, name }))),
        clock,
      )
      return (outcomes as { value: { status: string }[] }).value.map(({ status }) => status)
    }

    test('SESS-1: a tool is offered to the model and runnable only while its capability is on', async () => {
      const { runtime, clock } = await open()
      const model = scriptedModel([{ when: /./, say: 'ok' }, 'ok'])
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'a' }).outcome, clock)
      const offered = (): string[] => model.requests.at(-1)?.tools.map(({ name }) => name) ?? []
      // The tools offered to the model are exactly the tools that run.
      const same = async (): Promise<void> => {
        for (const name of ['own', 'read', 'fetch', 'export'])
          expect([name, await run(runtime, clock, 's', name)]).toEqual([
            name,
            [offered().includes(name) ? 'success' : 'failure'],
          ])
      }
      expect(offered().filter((name) => !name.includes('_'))).toEqual(['own'])
      await same()
      await session.capabilities.switchOn('files')
      await after(session.turn({ model, message: 'b' }).outcome, clock)
      expect(offered().filter((name) => !name.includes('_'))).toEqual(['own', 'read'])
      expect(model.requests.at(-1)?.instructions).toBe(
        '<capability name="files">\nRead before you write.\n</capability>',
      )
      await same()
      await session.capabilities.switchOn('web')
      expect((await session.capabilities.list()).toSorted()).toEqual(['files', 'web'])
      await after(session.turn({ model, message: 'c', instructions: 'Be brief.' }).outcome, clock)
      expect(offered()).toContain('spawn_background')
      expect(model.requests.at(-1)?.instructions).toMatch(/^Be brief\.\n\n<capability/)
      await same()
      expect(seen).toContain('fetch')
      expect(await session.capabilities.switchOff('web')).toBe(true)
      expect(await session.capabilities.switchOff('web')).toBe(false)
      await after(session.turn({ model, message: 'd' }).outcome, clock)
      await same()
      seen.length = 0
      await run(runtime, clock, 's', 'own')
      expect(seen).toEqual([])
    })

    test('SESS-1: a model cannot start a tool in the background that it is not offered', async () => {
      const { runtime, clock } = await open({
        tools: [named('own', { background: true }), named('other', { background: true })],
      })
      const spawn = (name: string) => ({ call: { name: 'spawn_background', input: { tool: name, args: {} } } })
      const model = scriptedModel([spawn('export'), ({ last }) => last])
      expect(await after(runtime.session('s').turn({ model, message: 'a' }).outcome, clock)).toMatchObject({
        value: { value: { text: expect.stringContaining('Unknown tool: export') } },
      })
      const framed = scriptedModel([spawn('other'), ({ last }) => last], { name: 'framed' })
      const turn = runtime.session('t').turn({ model: framed, message: 'a', tools: ['own', 'spawn_background'] })
      expect(await after(turn.outcome, clock)).toMatchObject({
        value: { value: { text: expect.stringContaining('Unknown tool: other') } },
      })
    })

    test('SESS-1: capabilities given with a session persist over a restart and limit its turns', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const options = { clock, logger: quiet, tools: [named('own')], capabilities: capabilities() }
      const first = await createRuntime({ ...options, store: shared })
      const started = first.session('s', { capabilities: ['files'] }).run([{ id: 'a', name: 'read' }])
      expect(await after(started, clock)).toMatchObject({ value: [{ status: 'success' }] })
      await first.close({ grace: 0 })
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      expect(await second.session('s').capabilities.list()).toEqual(['files'])
      const endless = scriptedModel([{ when: /./, call: { name: 'own' } }])
      expect(await after(second.session('s').turn({ model: endless, message: 'a' }).outcome, clock)).toMatchObject({
        value: { failure: { code: 'turn_limit' } },
      })
      expect(endless.asked).toBe(3)
      await expect(second.session('s').capabilities.switchOn('none')).rejects.toMatchObject({
        code: 'capability_unknown',
      })
      await expect(second.session('x', { capabilities: ['none'] }).run([])).rejects.toMatchObject({
        code: 'capability_unknown',
      })
    })
  })
}
