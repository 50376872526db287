// Tests of task notices that every store runs.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../../src/index.ts'
import type { MortalWorld } from '../../kit/worker-takeover.ts'
import { rerunTask } from '../../kit/simple-tools.ts'

export const double = tool({
  name: 'double',
  description: 'Doubles',
  input: z.object({ n: z.number() }),
  onCrash: 'rerun',
  background: true,
  execute: ({ n }) => n * 2,
})

export function noticeCases({ start }: MortalWorld): void {
  test('TASK-9: silent tasks produce no notice, others exactly one', async () => {
    const runtime = await start([double])
    const { tasks, notices } = runtime.session('s')
    const quietly = await tasks.start({ tool: double, input: { n: 1 }, wake: 'silent' })
    await tasks.wait(quietly.id)
    expect(await notices.list()).toEqual([])
    const aloud = await tasks.start({ tool: double, input: { n: 2 } })
    await tasks.wait(aloud.id)
    const [notice] = await notices.list()
    expect(notice).toMatchObject({ task: aloud.id, about: 'end' })
    expect(await notices.acknowledge([notice?.id ?? ''])).toBe(1)
    expect(await notices.acknowledge([notice?.id ?? ''])).toBe(0)
    expect(await notices.list()).toEqual([])
  })

  test('TASK-2, TASK-8, TASK-9: a task sends a message and a request and continues with the reply', async () => {
    const asks = rerunTask('asks', async (_, ctx) => {
      await ctx.task?.message('Half-way', { rows: 5 })
      const { text } = (await ctx.task?.request('Which format?')) ?? { text: '' }
      return text
    })
    const runtime = await start([asks])
    const { tasks, notices } = runtime.session('s')
    const { id } = await tasks.start({ tool: asks, wake: 'on_activity', title: 'Export' })
    const waiting = await tasks.wait(id, { until: 'input' })
    expect(waiting).toMatchObject({ state: 'awaiting_input', inputRequest: { prompt: 'Which format?' } })
    expect((await notices.list()).map(({ about }) => about)).toEqual(['message', 'request'])
    await expect(tasks.message(id, 'csv', { inReplyTo: 'other' })).rejects.toMatchObject({ code: 'task_invalid' })
    await tasks.message(id, 'csv', { inReplyTo: waiting.inputRequest?.id ?? '' })
    expect(await tasks.wait(id)).toMatchObject({ state: 'succeeded', outcome: { value: 'csv' }, inputRequest: null })
    expect((await tasks.messages(id)).map(({ direction, text }) => [direction, text])).toEqual([
      ['out', 'Half-way'],
      ['out', 'Which format?'],
      ['in', 'csv'],
    ])
  })

  test('TASK-9: concurrent acknowledgements of one notice succeed once', async () => {
    const [one, other] = [await start([double]), await start([double])]
    const { tasks } = one.session('s')
    for (const id of ['a', 'b', 'c']) await tasks.wait((await tasks.start({ tool: double, input: { n: 1 }, id })).id)
    const told = await other.session('s').notices.list()
    expect(told.map(({ task }) => task)).toEqual(['a', 'b', 'c'])
    expect(await other.session('else').notices.list()).toEqual([])
    const first = [told[0]?.id ?? '']
    const counts = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? one : other).session('s').notices.acknowledge(first)),
    )
    expect(counts.filter((count) => count > 0)).toEqual([1])
    expect((await one.session('s').notices.list()).map(({ task }) => task)).toEqual(['b', 'c'])
  })
}
