// result(value, { attachments }): the files reach the model after the value, and are part of the recorded outcome.

import { type Attachment, type ModelPart, type ModelRequest, result, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { onEachStore } from '../../kit/stores/local-stores.ts'

const input = { type: 'object' } as const
const png = { mediaType: 'image/png', name: 'chart.png' }
const bytes = Uint8Array.of(1, 2, 3)

const draw = tool({
  name: 'draw',
  description: 'Draws a chart',
  input,
  hints: { readOnly: true },
  background: true,
  execute: (_, ctx) =>
    result({ points: 2 }, { attachments: [ctx.attachments.create(bytes, png)], raw: { source: 'sql' } }),
})
const shown = (parts: readonly ModelPart[] | undefined): unknown[] =>
  (parts ?? []).map((part) => (part.type === 'text' ? part.text : part.attachment.ref))
const chart = expect.objectContaining({ name: 'chart.png', mediaType: 'image/png', bytes: 3 })

onEachStore('result attachments', (bench) => {
  test('VAL-5: attachments of result() follow the value, and raw stays hidden', async () => {
    const runtime = await bench.open([draw])
    const session = runtime.session('s')
    const [outcome] = await session.run([{ id: 'a', name: 'draw' }])
    expect(shown(outcome?.parts)).toEqual(['{"points":2}', chart])
    expect(outcome).toMatchObject({ status: 'success', value: { points: 2 }, raw: { source: 'sql' } })
    const { attachments } = outcome as unknown as { attachments: Attachment[] }
    expect(await session.attachments.read(attachments[0] as Attachment)).toEqual(bytes)
  })

  test('VAL-5: the model of a turn gets the attachments of result() as parts', async () => {
    const runtime = await bench.open([draw])
    const model = scriptedModel([{ call: { name: 'draw' } }, 'Done'])
    await runtime.session('s').turn({ model, message: 'Draw' }).outcome
    const last = (model.requests[1] as ModelRequest).messages.findLast(({ role }) => role === 'tool')
    expect(shown(last?.role === 'tool' ? last.results[0]?.parts : undefined)).toEqual(['{"points":2}', chart])
  })

  test('VAL-5: attachments of result() are in nested outcomes and can be passed on', async () => {
    const outer = tool({
      name: 'outer',
      description: 'd',
      input,
      onCrash: 'rerun',
      async execute(_, ctx) {
        const nested = await ctx.call(draw, {})
        return nested.status === 'success' ? result('See', { attachments: nested.attachments ?? [] }) : null
      },
    })
    const runtime = await bench.open([draw, outer])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'outer' }])
    expect(shown(outcome?.parts)).toEqual(['See', chart])
  })

  test('VAL-5: a task keeps the attachments of result() in its outcome', async () => {
    const runtime = await bench.open([draw])
    const { tasks } = runtime.session('s')
    const { id } = await tasks.start({ tool: 'draw' })
    const { outcome } = await tasks.wait(id)
    expect(outcome).toMatchObject({ status: 'success', attachments: [{ ref: chart }] })
  })

  test('VAL-5: a shortened value keeps the attachments of result()', async () => {
    const long = tool({
      name: 'long',
      description: 'd',
      input,
      execute: (_, ctx) =>
        result(
          Array.from({ length: 5_000 }, (_each, n) => `line ${n}`),
          { attachments: [ctx.attachments.create(bytes, png)] },
        ),
    })
    const runtime = await bench.open([long])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'long' }])
    expect(shown(outcome?.parts)).toEqual([expect.stringContaining('bytes shown'), chart])
  })

  test('VAL-5: an after hook can keep or remove the attachments of result()', async () => {
    for (const [keeps, expected] of [
      [true, ['{"points":3}', chart]],
      [false, ['{"points":3}']],
    ] as const) {
      const runtime = await bench.open([draw], {
        hooks: [
          {
            name: 'h',
            after: (_, outcome) =>
              outcome.status === 'success'
                ? {
                    replace: {
                      status: 'success' as const,
                      value: { points: 3 },
                      ...(keeps && outcome.attachments ? { attachments: outcome.attachments } : {}),
                    },
                  }
                : undefined,
          },
        ],
      })
      const [outcome] = await runtime.session(`s${String(keeps)}`).run([{ id: 'a', name: 'draw' }])
      expect(shown(outcome?.parts)).toEqual(expected)
    }
  })

  test.runIf(bench.survives)('VAL-5: attachments of result() read the same after a restart', async () => {
    const first = await bench.open([draw])
    await first.session('s').run([{ id: 'a', name: 'draw' }])
    await first.close()
    const second = await bench.open([draw])
    const [again] = await second.session('s').run([{ id: 'a', name: 'draw' }])
    expect(shown(again?.parts)).toEqual(['{"points":2}', chart])
    expect((await second.session('s').calls.get('a'))?.outcome).toMatchObject({ attachments: [{ ref: chart }] })
  })
})

test('VAL-5 CALL-12: result() refuses attachments that ctx.attachments did not make', () => {
  expect(() => result(1, { attachments: [{ ref: { id: 'x' } } as never] })).toThrow(
    '`attachments[0]` is an object; it must be an attachment from ctx.attachments.create().',
  )
})
