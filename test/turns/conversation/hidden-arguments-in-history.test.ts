import { createRuntime, tool, type Tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { opening, stores } from '../../kit/open-runtime.ts'
import { keepOpen } from '../../kit/stores/killable-store.ts'

const open = opening()
const input = { type: 'object' } as const
const hidden = {
  type: 'object',
  properties: { name: { type: 'string' }, value: { type: 'string', writeOnly: true } },
} as const
const named = (name: string, more: object = {}): Tool =>
  tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `${name} ran`, ...more })

for (const [kind, fresh] of stores)
  describe(`hidden arguments on ${kind}`, () => {
    test('DUR-12: a writeOnly argument stays hidden after its tool was removed', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const keep = named('keep', { input: hidden })
      const model = scriptedModel(
        [{ call: { name: 'keep', input: { name: 'a', value: 'hunter2-hunter2' } } }, 'ok', 'ok', 'ok'],
        {
          name: 'm',
        },
      )
      const options = { clock, logger: quiet, models: [model], store: shared }
      const first = await createRuntime({ ...options, tools: [keep] })
      await after(first.session('s').turn({ model, message: 'Go' }).outcome, clock)
      expect(JSON.stringify(await first.session('s').messages.list())).not.toContain('hunter2')
      first.tools.remove('keep')
      await after(first.session('s').turn({ model, message: 'And?' }).outcome, clock)
      await first.close({ grace: 0 })
      const second = await createRuntime({ ...options, tools: [] })
      await after(second.session('s').turn({ model, message: 'And?' }).outcome, clock)
      const listed = JSON.stringify(await second.session('s').messages.list())
      await second.close({ grace: 0 })
      expect(listed).not.toContain('hunter2')
      expect(listed).toContain('[hidden]')
      expect(JSON.stringify(model.requests)).not.toContain('hunter2')
    })

    test('DUR-12: a writeOnly argument is hidden in spawn_background', async () => {
      const keep = named('keep', { input: hidden, background: true })
      const model = scriptedModel(
        [
          {
            call: { name: 'spawn_background', input: { tool: 'keep', args: { name: 'a', value: 'hunter2-hunter2' } } },
          },
          'ok',
        ],
        { name: 'm' },
      )
      const { runtime, clock } = await open({ tools: [keep], models: [model] }, fresh)
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(JSON.stringify(model.requests)).not.toContain('hunter2')
      expect(JSON.stringify(await session.messages.list())).not.toContain('hunter2')
    })

    test('DUR-12: arguments of a sensitive tool started in the background are sealed', async () => {
      const keep = named('keep', { sensitive: true, background: true })
      const model = scriptedModel(
        [{ call: { name: 'spawn_background', input: { tool: 'keep', args: { note: 'measles' } } } }, 'ok'],
        {
          name: 'm',
        },
      )
      const keys = { secret: Buffer.alloc(32, 7) }
      const { runtime, clock, store } = await open({ tools: [keep], models: [model], keys }, fresh)
      await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)
      expect(JSON.stringify(await runtime.session('s').messages.list())).toContain('measles')
      const rows = await store.documentsOf({ of: 'message', tenant: 'default', session: 's', after: '', limit: 100 })
      expect(rows.length).toBeGreaterThan(2)
      expect(JSON.stringify(rows).includes('measles')).toBe(false)
    })
  })
