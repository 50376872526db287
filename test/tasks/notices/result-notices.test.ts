// Notices about results, requests and lost workers, and the signals and messages that tasks receive.

import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Attachment, type Runtime, tool, type ToolContext } from '../../../src/index.ts'
import { pathOf } from '../../../src/storage/files/file-path.ts'
import { newDirectory, fileRow } from '../../../src/storage/files/file-rows.ts'
import type { DocumentQuery, Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Mortal, StoreKind } from '../../kit/stores/killable-store.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'
import { argumentTool, backgroundTool, hang, rerunTask, simpleTool } from '../../kit/simple-tools.ts'
import { waitForTask } from '../../kit/wait-until.ts'

const empty = z.object({})
const report = ['Report', '- alpha 1', '- beta 2'].join('\n')

describe.each(['memory', 'sqlite'] as const)('result notices on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { start, takeOver } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  const reports = tool({
    name: 'reports',
    description: 'Reports',
    input: empty,
    background: true,
    execute: () => report,
  })
  const told = async (runtime: Runtime): Promise<string[]> =>
    (await runtime.session('s').notices.list()).map(({ text }) => text)

  test('TASK-8, TASK-9: the model gets the whole result of a moved call', async () => {
    let go: (value: string) => void = () => {}
    const slow = backgroundTool('slow', () => new Promise<string>((resolve) => (go = resolve)))
    const runtime = await start([slow])
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'slow' }])
    await vi.waitUntil(async () => (await session.calls.get('a'))?.state === 'running', { interval: 1 })
    const id = (await session.tasks.adopt('a'))?.id ?? ''
    await run
    expect(await session.tasks.result(id)).toBeNull()
    go(report)
    await session.tasks.wait(id)
    expect(await session.tasks.result(id)).toBe(report)
    expect((await told(runtime)).join('\n')).toContain(`- result:\n${report}`)
    const [got] = await session.run([{ id: 'b', name: 'get_task', input: { task_id: id } }])
    expect(got).toMatchObject({
      status: 'success',
      value: { task: { state: 'succeeded', summary: 'Report' }, result: report },
    })
  })

  test('TASK-8: the model gets the result of a task, and only once if the summary contains it', async () => {
    const word = tool({ name: 'word', description: 'Word', input: empty, background: true, execute: () => 'done' })
    const runtime = await start([reports, word])
    const session = runtime.session('s')
    for (const name of ['reports', 'word'])
      await session.tasks.wait((await session.tasks.start({ tool: name, id: name })).id)
    const [long, short] = await told(runtime)
    expect(long).toContain(`- result:\n${report}`)
    expect(short).toContain('- summary: done')
    expect(short).not.toContain('- result:')
    const [waited] = await session.run([{ id: 'w', name: 'wait_task', input: { task_id: 'reports' } }])
    expect(waited).toMatchObject({ value: { result: report, timed_out: false } })
    expect(await session.tasks.result('nobody')).toBeNull()
  })

  test('TASK-9, CALL-8, VAL-7: results in notices are projected by hooks and truncated', async () => {
    const long = backgroundTool('long', () => 'line\n'.repeat(20_000))
    const hooks = [
      {
        name: 'masks',
        project: ({ tool: name }: { tool: string }) =>
          name === 'reports' ? [{ type: 'text' as const, text: 'masked' }] : undefined,
      },
    ]
    const runtime = await start([reports, long], store, { hooks })
    const session = runtime.session('s')
    for (const name of ['reports', 'long'])
      await session.tasks.wait((await session.tasks.start({ tool: name, id: name })).id)
    expect(await session.tasks.result('reports')).toBe('masked')
    const all = (await told(runtime)).join('\n')
    expect(all).not.toContain('alpha')
    expect(all).not.toContain('Report')
    const shown = await session.run([
      { id: 'l', name: 'list_tasks' },
      { id: 'g', name: 'get_task', input: { task_id: 'reports' } },
    ])
    expect(JSON.stringify(shown.map((each) => each.parts))).not.toContain('Report')
    expect(Buffer.byteLength(all)).toBeLessThan(24 * 1024)
  })

  test('TASK-8, VAL-1: buffered and awaited signals and messages carry the same data', async () => {
    const odd = { $pawl: 'attachment', ref: { id: 'x', mediaType: 'a/b', bytes: 1 } }
    const read: string[] = []
    const hears = rerunTask('hears', async (_, ctx) => {
      const heard: unknown[] = []
      for (let n = 0; n < 2; n++) {
        const { file, as } = (await ctx.task?.signal<{ file: Attachment; as: unknown }>('go')) ?? {}
        read.push(Buffer.from(await ctx.attachments.read(file as Attachment)).toString())
        heard.push(as)
        const message = (await ctx.task?.receive()) as unknown as { data: { file: Attachment; as: unknown } }
        read.push(Buffer.from(await ctx.attachments.read(message.data.file)).toString())
        heard.push(message.data.as)
      }
      return heard
    })
    const makes = simpleTool('makes', { description: 'Makes a file' }, (_, ctx) =>
      ctx.attachments.create(Buffer.from('bytes'), { mediaType: 'text/plain' }),
    )
    const runtime = await start([hears, makes])
    const session = runtime.session('s')
    const [made] = await session.run([{ id: 'm', name: 'makes' }])
    const file = made?.status === 'success' ? made.value : null
    const { id } = await session.tasks.start({ tool: 'hears' })
    // These arrive before the body waits for them.
    await session.tasks.signal(id, 'go', { file, as: odd })
    await session.tasks.message(id, 'one', { data: { file, as: odd } })
    await vi.waitUntil(() => read.length === 2, { interval: 1 })
    await session.tasks.signal(id, 'go', { file, as: odd })
    await session.tasks.message(id, 'two', { data: { file, as: odd } })
    expect((await session.tasks.wait(id)).outcome).toMatchObject({ status: 'success', value: [odd, odd, odd, odd] })
    expect(read).toEqual(['bytes', 'bytes', 'bytes', 'bytes'])
    const sent = await session.tasks.messages(id)
    expect(sent.map(({ data }) => (data as { as: unknown }).as)).toEqual([odd, odd])
    expect(
      Buffer.from(
        await session.attachments.read(
          (sent as unknown as { data: { file: Attachment } }[]).map(({ data }) => data.file)[0] as Attachment,
        ),
      ).toString(),
    ).toBe('bytes')
  })

  test('CRON-2, CRON-4: schedules, subscriptions and events reject attachments', async () => {
    const takes = argumentTool('takes', z.looseObject({}), { background: true }, () => 'done')
    const makes = simpleTool('makes', { description: 'Makes a file' }, (_, ctx) =>
      ctx.attachments.create(Buffer.from('bytes'), { mediaType: 'text/plain' }),
    )
    const runtime = await start([takes, makes])
    const session = runtime.session('s')
    const [made] = await session.run([{ id: 'm', name: 'makes' }])
    const input = { deep: [{ file: made?.status === 'success' ? made.value : null }] }
    await expect(session.schedules.create({ tool: 'takes', input, cron: '0 9 * * *' })).rejects.toMatchObject({
      code: 'schedule_invalid',
    })
    await expect(session.triggers.subscribe({ event: 'e', tool: 'takes', input })).rejects.toMatchObject({
      code: 'trigger_invalid',
    })
    await expect(runtime.emit('e', input, { key: 'k' })).rejects.toMatchObject({ code: 'trigger_invalid' })
  })

  test('TASK-9: a request produces a notice unless the task is silent', async () => {
    const asks = rerunTask('asks', async (_, ctx) => {
      await ctx.task?.message('by the way')
      return (await ctx.task?.request('Which one?'))?.text ?? ''
    })
    const runtime = await start([asks])
    const { tasks } = runtime.session('s')
    for (const wake of ['on_terminal', 'silent', 'on_activity'] as const) {
      const { id } = await tasks.start({ tool: 'asks', wake })
      await tasks.wait(id, { until: 'input' })
      const heard = (await runtime.session('s').notices.list())
        .filter(({ task }) => task === id)
        .map(({ about }) => about)
      expect(heard).toEqual(wake === 'silent' ? [] : wake === 'on_terminal' ? ['request'] : ['message', 'request'])
    }
  })

  test('TASK-6: a lost worker produces a notice, even for silent tasks', async () => {
    const make = (name: string, onCrash: 'stop' | 'rerun', body: () => unknown) =>
      tool({ name, description: 'Works', input: empty, onCrash, background: true, execute: () => body() as string })
    const tools = (body: () => unknown) => [make('once', 'stop', body), make('again', 'rerun', body)]
    const dying = await start(tools(hang), first.store)
    const { tasks } = dying.session('s')
    await tasks.start({ tool: 'once', id: 'gone', wake: 'silent' })
    await tasks.start({ tool: 'again', id: 'back', wake: 'on_activity' })
    await waitForTask(dying, 'gone', ({ state }) => state === 'running')
    await waitForTask(dying, 'back', ({ state }) => state === 'running')
    first.die()
    const runtime = await takeOver(tools(() => 'done'))
    await waitForTask(runtime, 'gone', ({ state }) => state === 'abandoned')
    await vi.waitUntil(async () => {
      await clock.advance('1s')
      return (await runtime.session('s').tasks.get('back'))?.state === 'succeeded'
    })
    const notices = await runtime.session('s').notices.list()
    expect(notices.filter(({ task }) => task === 'gone')).toMatchObject([{ about: 'lost' }])
    expect(notices.find(({ task }) => task === 'gone')?.text).toContain('lost its worker')
    expect(notices.filter(({ task }) => task === 'back').map(({ about }) => about)).toEqual(['lost', 'end'])
  })

  test('TASK-3, SESS-6: a task records each remote link once, and its agent sessions', async () => {
    const make = (body: (ctx: ToolContext) => Promise<unknown>) => [rerunTask('job', (_, ctx) => body(ctx))]
    const model = scriptedModel(['Done'])
    const dying = await start(
      make(async (ctx) => {
        await ctx.task?.link('job-7')
        return hang()
      }),
      first.store,
    )
    await dying.session('s').tasks.start({ tool: 'job', id: 't' })
    await waitForTask(dying, 't', ({ links }) => links.remote !== undefined)
    first.die()
    const runtime = await takeOver(
      make(async (ctx) => {
        await ctx.task?.link('job-7')
        await ctx.task?.link('job-8')
        await ctx.turn({ model, message: 'Go' })
        return 'done'
      }),
    )
    await vi.waitUntil(async () => {
      await clock.advance('1s')
      return (await runtime.session('s').tasks.get('t'))?.state === 'succeeded'
    })
    const links = (await runtime.session('s').tasks.get('t'))?.links
    expect(links?.remote).toEqual(['job-7', 'job-8'])
    expect(await runtime.session(links?.agents?.[0] ?? '').messages.list()).toHaveLength(2)
    const bad = tool({
      name: 'bad',
      description: 'Bad',
      input: empty,
      background: true,
      execute: (_, ctx) => ctx.task?.link(''),
    })
    runtime.tools.add([bad])
    expect(
      (await runtime.session('s').tasks.wait((await runtime.session('s').tasks.start({ tool: 'bad' })).id)).state,
    ).toBe('failed')
  })

  test('BOX-2: files of tasks do not slow down or appear in a glob', async () => {
    const runtime = await start([reports])
    const { files, tasks } = runtime.session('s')
    await files.write('/-first.csv', '1')
    await files.write('/a/b.csv', '2')
    await files.write('/.background0/c.csv', '3')
    await tasks.wait((await tasks.start({ tool: 'reports', id: 't' })).id)
    const paths = async (pattern: string): Promise<string[]> =>
      (await files.glob(pattern)).entries.map(({ path }) => path)
    expect(await paths('**/*.csv')).toEqual(['/-first.csv', '/a/b.csv'])
    expect(await paths('.*/*.csv')).toEqual(['/.background0/c.csv'])
    expect(await paths('.background/**')).toEqual(['/.background/t', '/.background/t/result.json'])
    expect(await paths('.b*/*/*.json')).toEqual(['/.background/t/result.json'])
    const of = { tenant: 'default', session: 's' }
    const left = Array.from({ length: 5_000 }, (_, n) => fileRow(of, pathOf(['.background', `t${n}`]), newDirectory(0)))
    await store.commit({ guards: [], documents: left, events: [] })
    let rows = 0
    const counted = {
      ...store,
      documentsOf: async (query: DocumentQuery) => (await store.documentsOf(query)).map((row) => (rows++, row)),
    }
    const other = await start([], counted)
    expect((await other.session('s').files.glob('**/*.csv')).entries).toHaveLength(2)
    expect(rows).toBeLessThan(1_500) // one page, not all of them
    await other.close()
  })
})
