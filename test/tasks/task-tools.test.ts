// The task tools that a model calls.

import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type CallOutcome, type Runtime, tool } from '../../src/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { argumentTool, backgroundTool } from '../kit/simple-tools.ts'

const names = [
  'cancel_task',
  'get_task',
  'list_tasks',
  'message_task',
  'move_to_background',
  'spawn_background',
  'wait_task',
]

onEachStore('task tools', (bench) => {
  const double = tool({
    name: 'double',
    title: 'Double a number',
    description: 'Doubles',
    input: z.object({ n: z.number() }),
    hints: { readOnly: true },
    background: true,
    execute: ({ n }) => n * 2,
  })
  const plain = tool({ name: 'plain', description: 'Plain', input: z.object({}), execute: () => 1 })
  const hidden = tool({
    name: 'hidden',
    description: 'Hidden',
    input: z.object({}),
    internal: true,
    background: true,
    execute: () => 1,
  })
  let calls = 0
  const ask = async (runtime: Runtime, name: string, input: unknown, session = 's'): Promise<CallOutcome> => {
    const [outcome] = await runtime.session(session).run([{ id: `c${++calls}`, name, input }])
    return outcome as CallOutcome
  }
  const message = (outcome: CallOutcome): string =>
    outcome.status === 'failure' ? outcome.failure.message : outcome.status

  test('TASK-1: task tools are offered only if a tool can run in the background', async () => {
    const without = await bench.open([plain])
    expect(without.session('s').tools.map(({ name }) => name)).toEqual(['plain'])
    expect(message(await ask(without, 'spawn_background', { tool: 'plain', args: {} }))).toContain(
      'There is no tool named',
    )
    const withIt = await bench.open([plain, double])
    expect(withIt.session('s').tools.map(({ name }) => name)).toEqual(
      [...names, 'double', 'plain'].toSorted((a, b) => (a < b ? -1 : 1)),
    )
    withIt.tools.remove('double')
    expect(withIt.session('s').tools.map(({ name }) => name)).toEqual(['plain'])
    const own = withIt.session('own', { tools: [double] })
    expect(own.tools.map(({ name }) => name)).toContain('spawn_background')
    const [outcome] = await own.run([{ id: 'a', name: 'spawn_background', input: { tool: 'double', args: { n: 1 } } }])
    const { task_id: id } = (outcome?.status === 'success' ? outcome.value : {}) as { task_id: string }
    expect((await own.tasks.wait(id)).state).toBe('succeeded')
  })

  test('TASK-1: a host tool of the same name replaces a task tool', async () => {
    const mine = tool({ name: 'list_tasks', description: 'Mine', input: z.object({}), execute: () => 'mine' })
    const runtime = await bench.open([double, mine])
    expect(await ask(runtime, 'list_tasks', {})).toMatchObject({ status: 'success', value: 'mine' })
  })

  test('TASK-1, TASK-8: a model starts a task, reads it and waits for it', async () => {
    const runtime = await bench.open([double])
    const started = await ask(runtime, 'spawn_background', { tool: ' double ', args: { n: 4 }, title: ' Twice four ' })
    expect(started).toMatchObject({
      status: 'success',
      value: { title: 'Twice four', tool: 'double', signal_on_completion: true },
    })
    const {
      task_id: id,
      run_id,
      resource_id,
      log_path,
      result_path,
      artifact_dir,
    } = (started.status === 'success' ? started.value : {}) as Record<string, string>
    expect([run_id, resource_id, log_path, result_path, artifact_dir]).toEqual([
      id,
      id,
      `/.background/${id}/output.log`,
      `/.background/${id}/result.json`,
      `/.background/${id}`,
    ])
    expect(await ask(runtime, 'wait_task', { task_id: id })).toMatchObject({
      value: { task: { state: 'succeeded', summary: '8' }, timed_out: false },
    })
    expect(await ask(runtime, 'get_task', { task_id: id })).toMatchObject({
      value: { task: { title: 'Twice four' }, messages: [] },
    })
    expect(await ask(runtime, 'list_tasks', { state: 'succeeded' })).toMatchObject({ value: { count: 1 } })
    expect(await ask(runtime, 'list_tasks', { state: 'open' })).toMatchObject({ value: { count: 0 } })
    expect(await ask(runtime, 'cancel_task', { task_id: id })).toMatchObject({
      value: { note: 'task already terminal', cancel_requested: false },
    })
    expect(message(await ask(runtime, 'message_task', { task_id: id, message: 'hi' }))).toContain('The task has ended')
    expect(message(await ask(runtime, 'get_task', { task_id: 'nope' }))).toContain('No task found with id: nope')
    expect(message(await ask(runtime, 'get_task', { task_id: id }, 'another'))).toContain(
      `No task found with id: ${id}`,
    )
    expect((await runtime.session('s').notices.list()).map(({ task }) => task)).toEqual([id])
  })

  test('TASK-1: a tool that cannot be started is rejected with a reason for the model', async () => {
    const runtime = await bench.open([double, plain, hidden])
    const said = async (input: unknown): Promise<string> => message(await ask(runtime, 'spawn_background', input))
    expect(await said({ tool: 'spawn_background', args: {} })).toBe('spawn_background cannot target itself recursively')
    expect(await said({ tool: '  ', args: {} })).toBe('Missing required parameter: tool')
    expect(await said({ tool: 'nothing', args: {} })).toContain('Unknown tool: nothing')
    expect(await said({ tool: 'hidden', args: {} })).toContain('Unknown tool: hidden')
    expect(await said({ tool: 'plain', args: {} })).toContain('Tool does not support background execution: plain')
    expect(await said({ tool: 'list_tasks', args: {} })).toContain(
      'Tool does not support background execution: list_tasks',
    )
    expect(await said({ tool: 'double', args: { n: 'x' } })).toContain("The arguments of 'double' are not valid: n:")
    expect(await runtime.session('s').tasks.list()).toEqual([])
  })

  test('TASK-1: a sixth task started by a model is rejected; one started by code is queued', async () => {
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => (go = resolve))
    const slow = backgroundTool('slow', { hints: { readOnly: true } }, () => gate)
    const runtime = await bench.open([slow])
    const session = runtime.session('s')
    const outcomes = await session.run(
      Array.from({ length: 9 }, (_, n) => ({
        id: `s${n}`,
        name: 'spawn_background',
        input: { tool: 'slow', args: {} },
      })),
    )
    expect(outcomes.filter(({ status }) => status === 'success')).toHaveLength(5)
    const refused = outcomes.filter(({ status }) => status === 'failure')
    expect(refused).toHaveLength(4)
    for (const each of refused) expect(message(each)).toContain('Maximum 5 active background runs per session.')
    const sixth = await session.tasks.start({ tool: slow })
    expect((await session.tasks.list({ state: 'open' })).length).toBe(6)
    go()
    expect((await session.tasks.wait(sixth.id)).state).toBe('succeeded')
  })

  test('TASK-1: policy applies to tasks; an approval request waits in the inbox', async () => {
    const wipe = backgroundTool('wipe', { hints: { destructive: true } }, () => 'wiped')
    const runtime = await bench.open([wipe, double], { policy: { rules: [{ tool: 'double', then: 'deny' }] } })
    const started = await ask(runtime, 'spawn_background', { tool: 'wipe', args: {} })
    const { task_id: id } = (started.status === 'success' ? started.value : {}) as { task_id: string }
    const item = await vi.waitUntil(async () => (await runtime.inbox())[0], { interval: 1 })
    expect(await runtime.session('s').tasks.get(id)).toMatchObject({ state: 'awaiting_input', attempt: 0 })
    await runtime.decide(item.id, { approve: true, by: 'user:bea' })
    expect(await runtime.session('s').tasks.wait(id)).toMatchObject({ state: 'succeeded', outcome: { value: 'wiped' } })
    const denied = await ask(runtime, 'spawn_background', { tool: 'double', args: { n: 1 } })
    const { task_id: other } = (denied.status === 'success' ? denied.value : {}) as { task_id: string }
    expect(await runtime.session('s').tasks.wait(other)).toMatchObject({
      state: 'failed',
      outcome: { failure: { code: 'denied_by_policy' } },
    })
  })

  test('TASK-1, CRON-2: spawn_background with a schedule creates a schedule and a monitor', async () => {
    const clock = manualClock()
    const runtime = await bench.open([double, hidden], { clock })
    const session = runtime.session('s')
    const said = async (schedule: unknown, tool = 'double', args: object = { n: 3 }): Promise<string> =>
      message(await ask(runtime, 'spawn_background', { tool, args, schedule }))
    expect(await said({})).toBe(
      'schedule must include exactly one of cron_expression (recurring) or scheduled_at (one-shot)',
    )
    expect(await said({ cron_expression: '* * * * *', scheduled_at: '2040-01-01T00:00:00Z' })).toBe(
      'schedule must not include both cron_expression and scheduled_at; provide exactly one',
    )
    expect(await said({ cron_expression: '61 * * * *' })).toContain('minute')
    expect(await said({ scheduled_at: 'tomorrow' })).toContain('RFC 3339')
    expect(await said({ cron_expression: '0 * * * *' }, 'hidden', {})).toContain('Unknown tool: hidden')
    expect(await said({ cron_expression: '0 * * * *' }, 'double', { n: 'x' })).toContain('does not fit double')
    expect(await session.schedules.list()).toEqual([])
    const made = await ask(runtime, 'spawn_background', {
      tool: 'double',
      args: { n: 3 },
      title: 'Hourly',
      schedule: { cron_expression: '0 * * * *' },
    })
    const { task_id: id, schedule_id: schedule } = (made.status === 'success' ? made.value : {}) as Record<
      string,
      string
    >
    expect(made).toMatchObject({
      value: {
        created: true,
        status: 'scheduled',
        schedule_type: 'recurring',
        title: 'Hourly',
        signal_on_completion: true,
        cron_expression: '0 * * * *',
        scheduled_at: null,
        timezone: 'UTC',
        enabled: true,
      },
    })
    expect(await session.tasks.get(id ?? '')).toMatchObject({
      kind: 'monitor',
      state: 'running',
      title: 'Hourly',
      links: { schedule },
    })
    expect(await ask(runtime, 'list_tasks', { state: 'running' })).toMatchObject({
      value: { count: 1, tasks: [{ kind: 'monitor' }] },
    })
    await clock.advance('1h')
    const run = await vi.waitUntil(async () => (await session.tasks.list()).find(({ kind }) => kind === 'scheduled'), {
      interval: 1,
    })
    expect(await session.tasks.wait(run.id)).toMatchObject({ outcome: { value: 6 } })
    expect((await session.tasks.messages(id ?? '')).map(({ text }) => text)).toEqual([
      expect.stringContaining('Monitor fired at'),
    ])
    await clock.advance('3d')
    await runtime.prune({ olderThan: '1d' })
    expect(await session.tasks.get(id ?? '')).toMatchObject({ state: 'running' })
    expect(message(await ask(runtime, 'message_task', { task_id: id, message: 'x' }))).toContain(
      'A monitor represents a schedule',
    )
    expect(await ask(runtime, 'cancel_task', { task_id: id })).toMatchObject({
      value: { state: 'cancelled', cancel_requested: true },
    })
    expect(await session.schedules.list()).toEqual([])
    expect(await session.tasks.cancel(id ?? '')).toBe(false)
  })

  test('TASK-1: a monitor without a title gets the default title of a task', async () => {
    const untitled = argumentTool('probe', z.object({}), { background: true }, () => 1)
    const runtime = await bench.open([untitled, double])
    const input = (name: string, schedule?: object) => ({
      tool: name,
      args: name === 'double' ? { n: 1 } : {},
      ...(schedule ? { schedule } : {}),
    })
    const later = { scheduled_at: '2040-01-01T10:00:00+01:00', timezone: 'Europe/Berlin' }
    for (const [name, title] of [
      ['probe', 'Background probe'],
      ['double', 'Double a number'],
    ] as const) {
      expect(await ask(runtime, 'spawn_background', input(name))).toMatchObject({ value: { title } })
      expect(
        await ask(runtime, 'spawn_background', { ...input(name, later), signal_on_completion: false }),
      ).toMatchObject({
        value: { title, signal_on_completion: false, cron_expression: null, enabled: true, ...later },
      })
    }
  })

  test('TASK-8: list_tasks says that there are more tasks and continues after a task id', async () => {
    const runtime = await bench.open([double])
    const session = runtime.session('many')
    for (let n = 0; n < 53; n++) await session.tasks.start({ tool: double, input: { n }, id: `t${n}` })
    const listed = async (input: object) => {
      const outcome = await ask(runtime, 'list_tasks', input, 'many')
      return (outcome.status === 'success' ? outcome.value : {}) as {
        tasks: { task_id: string }[]
        count: number
        more: boolean
      }
    }
    const first = await listed({})
    expect(first).toMatchObject({ count: 50, more: true })
    const rest = await listed({ after: first.tasks.at(-1)?.task_id })
    expect(rest).toMatchObject({ count: 3, more: false })
    expect(new Set([...first.tasks, ...rest.tasks].map(({ task_id: id }) => id)).size).toBe(53)
  })

  test('CRON-2: a one-shot schedule ends its monitor', async () => {
    const clock = manualClock()
    const runtime = await bench.open([double], { clock })
    const session = runtime.session('s')
    const { task, schedule } = await session.tasks.schedule(
      { tool: double, input: { n: 1 } },
      { at: clock.now() + 60_000 },
    )
    const waiting = session.tasks.wait(task.id)
    await clock.advance('61s')
    expect(await waiting).toMatchObject({ state: 'succeeded', summary: 'Scheduled monitor completed' })
    expect(await session.schedules.history(schedule)).toMatchObject([{ outcome: 'started' }])
  })
})
