// Project hooks change the text that the model reads of an outcome, and nothing else.

import { Redactor } from '../../../src/security/redact.ts'
import { fail, type Hook, type ModelPart, readOutputTool, type Tool, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createProjection } from '../../../src/calls/output/outcome-for-model.ts'
import { defaultBudget } from '../../../src/calls/output/truncate.ts'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { simpleTool } from '../../kit/simple-tools.ts'

const text = (words: string): ModelPart => ({ type: 'text', text: words })
const textIn = (parts: readonly ModelPart[] | undefined): string =>
  (parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
const hook = (name: string, project: unknown): Hook => ({ name, project: project as NonNullable<Hook['project']> })
/** Removes card numbers from all text parts. */
const redact = hook('redact', (_: unknown, __: unknown, parts: readonly ModelPart[]) =>
  parts.map((part) => (part.type === 'text' ? text(part.text.replaceAll(/\d{16}/g, '[card]')) : part)),
)
const card = '4111111111111111'

const says = (name: string, value: unknown, more: object = {}): Tool =>
  tool({ name, description: 'Says it', input: z.object({}), concurrency: 'parallel', execute: () => value, ...more })

onEachStore('project hooks', (bench) => {
  const ask = async (tools: readonly Tool[], hooks: readonly Hook[], more: object = {}) => {
    const runtime = await bench.open(tools, { hooks, ...more })
    return runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
  }

  const tools = [
    says('paid', { card, cents: 5 }),
    says('note', `card ${card}`),
    says('bad', null, { execute: () => Promise.reject(fail(card)) }),
  ]

  test("CALL-8: a project hook changes the model's view; the outcome and its record stay complete", async () => {
    const runtime = await bench.open(tools, { hooks: [redact] })
    const run = () => runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
    const [paid, note, bad] = await run()
    expect(paid).toMatchObject({ value: { card, cents: 5 }, parts: [text('{"card":"[card]","cents":5}')] })
    expect(note).toMatchObject({ value: `card ${card}`, parts: [text('card [card]')] })
    expect(bad).toMatchObject({ failure: { message: card }, parts: [text('[Tool execution failed]\n[card]')] })
    // A replay projects the recorded outcome in the same way.
    expect(await run()).toEqual([paid, note, bad])
  })

  test.runIf(bench.survives)(
    'CALL-8: after a restart a project hook changes a recorded outcome in the same way',
    async () => {
      const first = await bench.open(tools, { hooks: [redact] })
      const outcomes = await first.session('s').run(tools.map(({ name }) => ({ id: name, name })))
      await first.close()
      expect(await ask(tools, [redact])).toEqual(outcomes)
      const plain = await ask(tools, []) // without the hook: the recorded text
      expect(textIn(plain[1]?.parts)).toBe(`card ${card}`)
    },
  )

  test('CALL-8: a caller that joins a running call gets the projected view', async () => {
    const seen: unknown[] = []
    const late = Promise.withResolvers<string>()
    const waits = tool({
      name: 'waits',
      description: 'Waits',
      input: z.object({ n: z.number() }),
      execute: () => late.promise,
    })
    const watch = hook('watch', (facts: unknown, outcome: unknown) => void seen.push([facts, outcome]))
    const runtime = await bench.open([waits], { hooks: [watch, redact] })
    const session = runtime.session('s', { tenant: 't', principal: 'user:ada' })
    const call = { id: 'a', name: 'waits', input: { n: 1 } }
    const both = [session.run([call]), session.run([call])]
    late.resolve(card)
    for (const [outcome] of await Promise.all(both)) expect(outcome?.parts).toEqual([text('[card]')])
    const facts = { tenant: 't', session: 's', principal: 'user:ada', callId: 'a', tool: 'waits', input: { n: 1 } }
    expect(seen).toEqual([
      [facts, { status: 'success', value: card }],
      [facts, { status: 'success', value: card }],
    ])
  })

  test('CALL-8: project hooks run in name order, each on the parts of the previous one', async () => {
    const add = (name: string): Hook =>
      hook(name, async (_: unknown, __: unknown, parts: ModelPart[]) => [...parts, text(`+${name}`)])
    const hooks = [add('b'), add('a'), hook('c', () => undefined)]
    for (const order of [hooks, hooks.toReversed()]) {
      const runtime = await bench.open([says('x', 'x')], { hooks: order })
      expect((await runtime.session('s').run([{ id: 'a', name: 'x' }]))[0]?.parts).toEqual([text('x+a+b')])
      await runtime.close()
    }
  })

  test.for([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['gives a text', () => 'x'],
    ['gives a part that is none', () => [{ type: 'text' }]],
    ['gives nothing in a list', () => [null]],
    [
      'makes an attachment up',
      () => [{ type: 'attachment', attachment: { ref: { id: 'a', mediaType: 'image/png', bytes: 1 } } }],
    ],
  ] as [string, () => unknown][])(
    'CALL-8: a project hook that %s is logged and the default projection is used',
    async ([, bad]) => {
      const [outcome] = await ask([says('x', card)], [hook('bad', bad)])
      expect(outcome).toMatchObject({ status: 'success', parts: [text(card)] })
      expect(bench.logged.filter(({ level }) => level === 'error')).toMatchObject([
        { fields: { hook: 'bad', callId: 'x', tool: 'x' } },
      ])
      // The redaction of another hook still applies.
      expect((await ask([says('y', card)], [hook('bad', bad), redact]))[0]?.parts).toEqual([text('[card]')])
    },
  )

  test('CALL-8: a hanging project hook times out and delays neither the record nor the next call', async () => {
    const clock = manualClock()
    const runtime = await bench.open(
      [says('x', 1, { concurrency: 'exclusive' }), says('y', 2, { concurrency: 'exclusive' })],
      {
        clock,
        hooks: [
          hook('stuck', (facts: { tool: string }) => (facts.tool === 'x' ? new Promise(() => {}) : undefined)),
          hook('quick', async () => undefined),
        ],
      },
    )
    const settled: string[] = []
    const watching = (async () => {
      for await (const event of runtime.session('s').events())
        if (event.type === 'call.settled' && settled.push(event.call) === 2) break
    })()
    let done = false
    const run = runtime.session('s').run([
      { id: 'x', name: 'x' },
      { id: 'y', name: 'y' },
    ])
    void run.then(() => (done = true))
    await clock.advance('4s')
    await watching
    expect(done).toBe(false)
    expect(clock.pending).toBe(1) // only the timeout of the hook
    await clock.advance('1s')
    expect(await run).toMatchObject([{ parts: [text('1')] }, { parts: [text('2')] }])
    expect(bench.logged).toMatchObject([{ level: 'error', message: expect.stringContaining('5000 ms') }])
    expect(clock.pending).toBe(0)
  })

  test('CALL-8: mutations inside a project hook have no effect', async () => {
    const vandal = hook('vandal', (_: unknown, outcome: { value: { list: number[] } }, parts: ModelPart[]) => {
      outcome.value.list.push(666)
      parts.length = 0
    })
    const [outcome] = await ask([says('x', { list: [1] })], [vandal])
    expect(outcome).toMatchObject({ value: { list: [1] }, parts: [text('{"list":[1]}')] })
  })

  test('CALL-8 VAL-7: the budget applies after a project hook, and no handle bypasses it', async () => {
    const seen: number[] = []
    const long = `${'word '.repeat(4_000)}${card}`
    const whole = hook('whole', (_: unknown, __: unknown, parts: ModelPart[]) => void seen.push(textIn(parts).length))
    const grow = hook('grow', () => [text('y'.repeat(50_000))])
    const output = { bytes: 2_048 }
    const [redacted] = await ask([says('a', long)], [redact, whole], { output })
    expect(seen).toEqual([long.length - card.length + '[card]'.length]) // the whole text, no card number cut in half
    for (const parts of [redacted?.parts, (await ask([says('b', 'x')], [grow], { output }))[0]?.parts]) {
      expect(Buffer.byteLength(textIn(parts))).toBeLessThanOrEqual(2_048)
      expect(textIn(parts)).toMatch(/\[Shortened: [\d,]+ of [\d,]+ bytes shown\.\]$/)
      expect(textIn(parts)).not.toContain('read_output')
    }
    const [json] = await ask([says('c', { list: Array.from({ length: 900 }, () => card) })], [redact], { output })
    expect(JSON.parse(textIn(json?.parts))).toMatchObject({
      shortened: expect.not.stringContaining('read_output'),
      value: expect.anything(),
    })
    expect(textIn(json?.parts)).not.toContain(card)
    // A hook without a result leaves the default view, with its read_output notice.
    const [plain] = await ask([says('d', long), readOutputTool()], [hook('silent', () => undefined)], { output })
    expect(textIn(plain?.parts)).toContain('read_output {"handle":')
  })

  test('CALL-8 VAL-7: pages of read_output pass the project hooks; programs read the whole text', async () => {
    const seen: unknown[] = []
    const long = `${'word '.repeat(400)}${card}${' word'.repeat(4_000)}`
    const watch = hook(
      'watch',
      ({ tool: name, callId }: { tool: string; callId: string }) => void seen.push([callId, name]),
    )
    const runtime = await bench.open([says('a', long), readOutputTool()], {
      hooks: [redact, watch],
      output: { bytes: 4_096 },
    })
    const session = runtime.session('s')
    const [shown] = await session.run([{ id: 'a', name: 'a' }])
    expect(textIn(shown?.parts)).not.toContain('handle')
    const handle = (await session.calls.get('a'))?.uid as string // the model does not see the handle
    const [page] = await session.run([{ id: 'b', name: 'read_output', input: { handle } }])
    expect(page).toMatchObject({ status: 'success', value: expect.stringContaining(card) })
    expect(textIn(page?.parts)).toContain('[card]')
    expect(textIn(page?.parts)).not.toContain(card)
    expect(seen).toEqual([
      ['a', 'a'],
      ['b', 'read_output'],
    ])
    expect((await session.outputs.read(handle, { offset: 2_000, limit: 16 })).text).toBe(card)
  })

  test('CALL-8 VAL-5: attachments keep their position, can be removed, and follow a shortened text', async () => {
    const picture = (name: string, around: string): Tool =>
      says(name, null, {
        execute: (_: unknown, ctx: { attachments: { create(data: string, about: object): unknown } }) => ({
          around,
          image: ctx.attachments.create('bytes', { mediaType: 'image/png' }),
          after: card,
        }),
      })
    const [kept] = await ask([picture('a', 'x')], [redact])
    expect(kept?.parts).toMatchObject([
      text('{"around":"x","image":'),
      { type: 'attachment' },
      text(',"after":"[card]"}'),
    ])
    const [dropped] = await ask(
      [picture('b', 'x')],
      [hook('words', (_: unknown, __: unknown, parts: ModelPart[]) => parts.filter(({ type }) => type === 'text'))],
    )
    expect(dropped?.parts).toEqual([text(`{"around":"x","image":,"after":"${card}"}`)])
    const [short] = await ask([picture('c', 'x'.repeat(50_000))], [redact])
    expect(short?.parts).toMatchObject([{ type: 'text' }, { type: 'attachment' }])
    expect(JSON.parse(textIn(short?.parts))).toMatchObject({ value: { image: null, after: '[card]' } })
  })

  test('CALL-8 SCHED-4: project hooks do not run for nested calls', async () => {
    const asked: string[] = []
    const outer = simpleTool('outer', async (_, ctx) => (await ctx.run([{ id: 'n', name: 'inner' }]))[0]?.status)
    const runtime = await bench.open([outer, says('inner', card)], {
      hooks: [hook('watch', (facts: { tool: string }) => void asked.push(facts.tool))],
    })
    expect(await runtime.session('s').run([{ id: 'a', name: 'outer' }])).toMatchObject([{ value: 'success' }])
    expect(asked).toEqual(['outer'])
  })

  test('CALL-8: a project option that is not a function is rejected at startup', async () => {
    await expect(bench.open([], { hooks: [{ name: 'odd', project: 'yes' as never }] })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })
})

describe('cost of project hooks', () => {
  const facts = { tenant: 't', session: 's', principal: null, callId: 'a', tool: 'x', input: null }
  const host = {
    budget: defaultBudget,
    clock: manualClock(),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    redact: new Redactor([]),
  }

  test('CALL-8: without a project hook the view is synchronous and needs no call facts', () => {
    const given = { outcome: { status: 'success', value: 'x' } } as const
    const asks = (): never => {
      throw new Error('asked')
    }
    for (const hooks of [[], [{ name: 'other', before: () => undefined, after: () => undefined }]]) {
      expect(createProjection({ ...host, hooks })(given, 'uid', true, asks)).toEqual([text('x')])
    }
    expect(createProjection({ ...host, hooks: [redact] })(given, 'uid', true, () => facts)).toBeInstanceOf(Promise)
  })
})
