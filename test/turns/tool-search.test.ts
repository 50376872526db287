// Tool search: with many tools their schemas are deferred, and the tools a model finds belong to the session.

import { createRuntime, type ModelRequest, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { type Line, scriptedModel } from 'pawl/testing'
import { toolbox } from 'pawl/toolbox'
import { describe, expect, test } from 'vitest'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAfterEach, stores } from '../kit/open-runtime.ts'
import { keepOpen } from '../kit/stores/killable-store.ts'

const runtimes = closedAfterEach()

const input = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
} as never
const make = (name: string, more: object = {}): Tool =>
  tool({
    name,
    description: `Does ${name}`,
    input,
    hints: { readOnly: true },
    examples: [{ n: 1 }],
    execute: ({ n }) => `${name} ${String(n)}`,
    ...more,
  })
const many = (count: number): Tool[] =>
  Array.from({ length: count }, (_, n) => make(`tool_${String(n).padStart(2, '0')}`))
const open = { type: 'object', additionalProperties: true }

const search = (query: string): Line => ({ call: { name: 'tool_search', input: { query } } })
const names = ({ tools }: ModelRequest): string[] => tools.map(({ name }) => name)
/** Names of the tools that are shown with their schema. */
const whole = ({ tools }: ModelRequest): string[] =>
  tools.filter(({ parameters }) => parameters !== undefined && 'properties' in parameters).map(({ name }) => name)
const results = ({ messages }: ModelRequest): unknown[] => {
  const last = messages.findLast(({ role }) => role === 'tool')
  return last?.role === 'tool'
    ? last.results.map(({ parts }) => JSON.parse((parts[0] as { text: string }).text) as unknown)
    : []
}

for (const [kind, fresh] of stores) {
  describe(`tool search on ${kind}`, () => {
    const start = async (
      options: Partial<RuntimeOptions> = {},
    ): Promise<{ runtime: Runtime; clock: ManualClock; store: Store }> => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, logger: quiet, ...options })
      runtimes.push(runtime)
      return { runtime, clock, store }
    }
    const asked = async (
      options: Partial<RuntimeOptions>,
      more: object = {},
      lines: Line[] = ['Hi'],
    ): Promise<readonly ModelRequest[]> => {
      const { runtime, clock } = await start(options)
      const model = scriptedModel(lines)
      await after(runtime.session('s').turn({ model, message: 'Go', ...more }).outcome, clock)
      return model.requests
    }

    test('SESS-8: with 15 or more tools, schemas are deferred and tool_search is offered', async () => {
      const [few] = await asked({ tools: many(14) })
      expect(names(few as ModelRequest)).toEqual(many(14).map(({ name }) => name))
      expect(whole(few as ModelRequest)).toHaveLength(14)
      const [full] = await asked({ tools: many(15) })
      expect(names(full as ModelRequest)).toEqual([...many(15).map(({ name }) => name), 'tool_search'])
      expect(whole(full as ModelRequest)).toEqual(['tool_search'])
      expect(full?.tools[0]).toEqual({ name: 'tool_00', description: 'Does tool_00', parameters: open, examples: [] })
      // The tools of the turn count, not all tools of the runtime.
      expect(whole((await asked({ tools: many(15) }, { tools: ['tool_01', 'tool_02'] }))[0] as ModelRequest)).toEqual([
        'tool_01',
        'tool_02',
      ])
      expect(whole((await asked({ tools: many(3), toolSearch: { from: 3 } }))[0] as ModelRequest)).toEqual([
        'tool_search',
      ])
      expect(
        names(
          (await asked({ tools: [...many(30), make('a', { defer: 'always' })], toolSearch: false }))[0] as ModelRequest,
        ),
      ).toHaveLength(31)
    })

    test('SESS-8: tools that Pawl adds do not count, and tool search is a warning, once', async () => {
      const lines: string[] = []
      const logger = { ...quiet, warn: (message: string) => void lines.push(message) }
      // 8 tools of the user bring 7 task tools, and the toolbox brings its own.
      const own = [...many(7), make('export', { background: true })]
      const [request] = await asked({ tools: [...own, ...toolbox()], logger })
      expect(names(request as ModelRequest)).toContain('spawn_background')
      expect(names(request as ModelRequest)).toContain('read_file')
      expect(names(request as ModelRequest).length).toBeGreaterThan(20)
      expect(whole(request as ModelRequest)).toEqual(names(request as ModelRequest))
      expect(lines).toEqual([])
      const { runtime, clock } = await start({ tools: [...many(15), ...toolbox()], logger })
      const model = scriptedModel(['Hi', 'Hi'])
      for (const message of ['one', 'two']) await after(runtime.session('s').turn({ model, message }).outcome, clock)
      expect(whole(model.requests[0] as ModelRequest)).toEqual(['tool_search'])
      await asked({ tools: many(15), toolSearch: { from: 12 }, logger })
      expect(lines).toEqual([
        'Tool search is on: there are 15 tools, so models see only their names and descriptions until they load a ' +
          'schema with tool_search. It starts with 15 tools; set toolSearch: { from: … } or toolSearch: false to change that',
      ])
    })

    test('SESS-8: defer never, auto and always decide which schemas are shown', async () => {
      const tools = [make('a', { defer: 'always' }), make('b'), make('n', { defer: 'never' })]
      const [few] = await asked({ tools })
      expect(names(few as ModelRequest)).toEqual(['a', 'b', 'n', 'tool_search'])
      expect(whole(few as ModelRequest)).toEqual(['b', 'n', 'tool_search'])
      const [full] = await asked({ tools: [...tools, ...many(12)] })
      expect(whole(full as ModelRequest)).toEqual(['n', 'tool_search'])
    })

    test('SESS-8 TOOL-1: a tool that was found is shown in full later and after a restart', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const options = { store: shared, clock, logger: quiet, tools: many(20) }
      const first = await createRuntime(options)
      const model = scriptedModel([
        search('tool_07'),
        { call: { name: 'tool_07', input: { n: 7 } } },
        ({ last }) => last,
      ])
      expect(await after(first.session('s').turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { value: { text: 'tool_07 7' } },
      })
      expect(results(model.requests[1] as ModelRequest)).toEqual([
        {
          query: 'tool_07',
          tools: [{ name: 'tool_07', description: 'Does tool_07', parameters: input }],
          loaded: 1,
          message: 'Full schemas loaded; these tools are callable with their full parameters on your next step.',
        },
      ])
      expect(model.requests.map(whole)).toEqual([
        ['tool_search'],
        ['tool_07', 'tool_search'],
        ['tool_07', 'tool_search'],
      ])
      expect(model.requests[1]?.tools.find(({ name }) => name === 'tool_07')?.examples).toEqual([{ n: 1 }])
      await first.close()
      const second = await createRuntime(options)
      runtimes.push(second)
      const later = scriptedModel(['Hi'], { name: 'later' })
      await after(second.session('s').turn({ model: later, message: 'And?' }).outcome, clock)
      expect(whole(later.requests[0] as ModelRequest)).toEqual(['tool_07', 'tool_search'])
      // Another session has found nothing, and erasing a session deletes its finds.
      const other = scriptedModel(['Hi'], { name: 'other' })
      await after(second.session('other').turn({ model: other, message: 'Go' }).outcome, clock)
      expect(whole(other.requests[0] as ModelRequest)).toEqual(['tool_search'])
      await second.erase({ session: 's' })
      const anew = scriptedModel(['Hi'], { name: 'anew' })
      await after(second.session('s').turn({ model: anew, message: 'Go' }).outcome, clock)
      expect(whole(anew.requests[0] as ModelRequest)).toEqual(['tool_search'])
    })

    test('SESS-8: a search without results lists the names, and finds only tools of the turn', async () => {
      const { runtime, clock } = await start({
        tools: [...many(20), make('hidden', { internal: true })],
        frames: [{ name: 'small', tools: ['tool_01', 'tool_02'] }],
      })
      const model = scriptedModel([
        {
          call: ['', '  ', 'xyzzy', 'hidden', 'tool_03', 'does'].map((query) => ({
            name: 'tool_search',
            input: { query },
          })),
        },
        'Done',
      ])
      const session = runtime.session('s')
      const two = ['tool_01', 'tool_02', 'tool_04']
      const turn = session.turn({
        model,
        message: 'Go',
        tools: [
          ...two,
          ...many(20)
            .slice(5)
            .map(({ name }) => name),
        ],
      })
      await after(turn.outcome, clock)
      const has = many(20)
        .map(({ name }) => name)
        .filter((name) => name !== 'tool_00' && name !== 'tool_03')
      const none = {
        tools: [],
        loaded: 0,
        message: 'No tools matched the query. Try a different keyword.',
        available_tools: has,
      }
      const listed = { ...none, message: expect.stringContaining('keyword') }
      expect(results(model.requests[1] as ModelRequest)).toEqual([
        { ...listed, query: '' },
        { ...listed, query: '  ' },
        { ...none, query: 'xyzzy' },
        { ...none, query: 'hidden' },
        { ...none, query: 'tool_03' },
        expect.objectContaining({ loaded: 8 }),
      ])
      expect(whole(model.requests[1] as ModelRequest)).toEqual([...has.slice(0, 8), 'tool_search'])
    })

    test('SESS-8: a deferred tool can be called without a search, and a wrong call reveals it', async () => {
      const { runtime, clock } = await start({ tools: many(15) })
      const model = scriptedModel([
        { call: { name: 'tool_03', input: { n: 3 } } },
        {
          call: [
            { name: 'tool_04', input: { m: 3 } },
            { name: 'tool_05', input: { n: 5 } },
          ],
        },
        { call: { name: 'tool_04', input: { n: 4 } } },
        ({ last }) => last,
      ])
      const session = runtime.session('s')
      expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { value: { text: 'tool_04 4' } },
      })
      expect(model.requests.map(whole)).toEqual([
        ['tool_search'],
        ['tool_search'],
        ['tool_04', 'tool_search'],
        ['tool_04', 'tool_search'],
      ])
      const later = scriptedModel(['Hi'], { name: 'later' })
      await after(session.turn({ model: later, message: 'And?' }).outcome, clock)
      expect(whole(later.requests[0] as ModelRequest)).toEqual(['tool_04', 'tool_search'])
    })

    test('SESS-8: tool_search can be called only in a turn that offers it', async () => {
      const { runtime, clock } = await start({ tools: many(3) })
      const session = runtime.session('s')
      // Nothing is deferred here, so tool_search does not exist for any caller and no listing has it.
      const model = scriptedModel([search('tool'), 'Done'])
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(model.requests[1]?.messages.at(-1)).toMatchObject({ results: [{ status: 'failure' }] })
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("There is no tool named 'tool_search'")
      expect(await after(session.run([{ id: 'x', name: 'tool_search', input: { query: 'a' } }]), clock)).toMatchObject({
        value: [{ status: 'failure', failure: { code: 'tool_unavailable' } }],
      })
      expect(session.tools.map(({ name }) => name)).not.toContain('tool_search')
      expect(runtime.tools.list().map(({ name }) => name)).not.toContain('tool_search')
      // A user-defined tool of that name takes precedence, and nothing is deferred.
      const own = await asked({ tools: [...many(20), make('tool_search')] }, {}, [
        { call: { name: 'tool_search', input: { n: 1 } } },
        'Done',
      ])
      expect(whole(own[0] as ModelRequest)).toHaveLength(21)
      expect(JSON.stringify(own[1]?.messages)).toContain('tool_search 1')
      const without = await asked(
        { tools: [...many(20), make('tool_search')] },
        { tools: many(20).map(({ name }) => name) },
      )
      expect(whole(without[0] as ModelRequest)).toHaveLength(20)
    })

    test('SESS-8 TOOL-4: changes to the tools while a model answers do not affect its calls', async () => {
      const { runtime, clock } = await start({ tools: many(15) })
      const model = scriptedModel(
        [
          {
            call: ['tool_search', 'tool_02'].map((name) => ({
              name,
              input: name === 'tool_02' ? { n: 2 } : { query: 'tool_03' },
            })),
          },
          'Done',
          'Again',
        ],
        {
          async wait({ answers }) {
            if (answers === 0) runtime.tools.remove('tool_02')
          },
        },
      )
      await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)
      expect(model.requests[1]?.messages.at(-1)).toMatchObject({
        results: [{ status: 'success' }, { status: 'success' }],
      })
      expect(names(model.requests[1] as ModelRequest)).toEqual(names(model.requests[0] as ModelRequest))
      // The next turn is below the threshold: all schemas are shown and tool_search is gone.
      await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)
      expect(names(model.requests[2] as ModelRequest)).toEqual(
        many(15)
          .map(({ name }) => name)
          .filter((name) => name !== 'tool_02'),
      )
      expect(whole(model.requests[2] as ModelRequest)).toHaveLength(14)
    })

    test('SESS-8: two workers on one store share the tools that a session has found', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const open_ = async (): Promise<Runtime> => {
        const runtime = await createRuntime({ store: shared, clock, logger: quiet, tools: many(20) })
        runtimes.push(runtime)
        return runtime
      }
      const [one, two] = [await open_(), await open_()]
      await after(
        one.session('s').turn({ model: scriptedModel([search('tool_01'), 'Done'], { name: 'a' }), message: 'Go' })
          .outcome,
        clock,
      )
      const model = scriptedModel([search('tool_02'), 'Done'], { name: 'b' })
      await after(two.session('s').turn({ model, message: 'Go' }).outcome, clock)
      expect(model.requests.map(whole)).toEqual([
        ['tool_01', 'tool_search'],
        ['tool_01', 'tool_02', 'tool_search'],
      ])
      const back = scriptedModel(['Done'], { name: 'c' })
      await after(one.session('s').turn({ model: back, message: 'Go' }).outcome, clock)
      expect(whole(back.requests[0] as ModelRequest)).toEqual(['tool_01', 'tool_02', 'tool_search'])
    })

    test('SESS-8: createRuntime() rejects invalid toolSearch options', async () => {
      const { clock, store } = fresh()
      for (const toolSearch of [{ from: 0 }, { from: 1.5 }, { form: 3 }, true, 'x', null])
        await expect(
          createRuntime({
            store: { ...store, close: async () => {} },
            clock,
            logger: quiet,
            toolSearch: toolSearch as never,
          }),
        ).rejects.toMatchObject({
          code: 'config_invalid',
        })
    })
  })
}
