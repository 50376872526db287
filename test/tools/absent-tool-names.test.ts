// Names that are not tools in this session: record keys, ids of shadowed tools, tools of other sessions, internal names.

import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type CallOutcome, type Runtime, tool, type Tool, type ToolContext } from 'pawl'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { lengthPrefixed } from '../../src/core/ids.ts'
import { Changing } from '../kit/changing-provider.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'

const codes = (outcomes: readonly CallOutcome[]): string[] =>
  outcomes.map((each) => (each.status === 'failure' ? each.failure.code : each.status))

onEachStore('names that nothing goes by', (bench) => {
  const clock = manualClock()
  const ran: string[] = []
  const noting = (name: string, over: object = {}, as = name): Tool =>
    tool({ name, description: `Does ${name}`, input: z.object({}), execute: () => void ran.push(as), ...over })
  const hanging = noting('hang', { execute: () => new Promise(() => {}) })
  const allow = { rules: [{ tool: '*', then: 'allow' }] } as const

  test('TOOL-4: the record key of a shadowed provider tool cannot be called by a model', async () => {
    ran.length = 0
    const remote = new Changing([noting('look', {}, 'remote look')], 'evil')
    const runtime = await bench.open([noting('look')], { clock, policy: allow, providers: [remote] })
    const asked = ['look@provider:evil', 'look', 'look@provider:evil'].map((name, order) => ({ id: `c${order}`, name }))
    expect(codes(await runtime.session('s').run(asked))).toEqual(['tool_unavailable', 'success', 'tool_unavailable'])
    expect(ran).toEqual(['look'])
  })

  test('TOOL-4: the id of a tool shadowed by a session tool cannot be called by a model', async () => {
    ran.length = 0
    const runtime = await bench.open([noting('pay', { id: 'pay_v1' }, 'the host’s pay')], { clock })
    const session = runtime.session('s', { tools: [noting('pay', { id: 'pay_of_session' })] })
    expect(codes(await session.run([{ id: 'c1', name: 'pay_v1' }, { id: 'c2', name: 'pay' }]))).toEqual(['tool_unavailable', 'success']) // prettier-ignore
    expect(ran).toEqual(['pay'])
  })

  test('CALL-5: the tools of another session and tenant cannot be called by name or key', async () => {
    ran.length = 0
    const runtime = await bench.open([hanging], { clock })
    const session = runtime.session('a', { tenant: 't1', tools: [noting('payroll')] })
    session.run([{ id: 'c1', name: 'hang' }]).catch(() => {})
    // From here on only the open batch still has the tool.
    runtime.session('a', { tenant: 't1', tools: [] })
    const other = runtime.session('b', { tenant: 't2' })
    const names = ['payroll', `payroll@session:${lengthPrefixed('t1', 'a')}`]
    const outcomes = await other.run(names.map((name, order) => ({ id: `c${order}`, name })))
    expect(codes(outcomes)).toEqual(['tool_unavailable', 'tool_unavailable'])
    // The message must not suggest the tool of the other session.
    expect(outcomes.map(({ parts }) => JSON.stringify(parts))).toEqual(
      names.map((name) => expect.not.stringContaining(`'${name}'. Did`)),
    )
    expect(ran).toEqual([])
  })

  test('TOOL-4: a removed tool is unavailable to later calls while an open batch still has it', async () => {
    ran.length = 0
    const wipe = noting('wipe')
    const runtime: Runtime = await bench.open([wipe, hanging], { clock })
    runtime.session('a').run([{ id: 'c1', name: 'hang' }]).catch(() => {}) // prettier-ignore
    runtime.tools.remove('wipe')
    const [outcome] = await runtime.session('b').run([{ id: 'c1', name: 'wipe' }])
    expect(codes([outcome as CallOutcome])).toEqual(['tool_unavailable'])
    expect(JSON.stringify(outcome?.parts)).not.toContain('Did you mean')
    runtime.tools.add(wipe)
    expect(codes(await runtime.session('b').run([{ id: 'c2', name: 'wipe' }]))).toEqual(['success'])
    expect(ran).toEqual(['wipe'])
  })

  test('CALL-5, WAIT-5: a call named pawl:announce fails as unavailable and announces nothing', async () => {
    const announced: unknown[] = []
    const later = noting('later', {
      execute: (_: unknown, ctx: ToolContext) => ctx.later({ announce: { type: 'review', payload: null } }),
    })
    const runtime = await bench.open([later], { clock, announce: (each) => void announced.push(each) })
    const [open] = await runtime.session('a', { tenant: 't1' }).run([{ id: 'c1', name: 'later' }], { until: 'waiting' })
    await vi.waitUntil(() => announced.length === 1, { interval: 1 })
    const wait = open?.status === 'waiting' ? open.waitId : ''
    const inputs = [{ wait }, {}, 'null', '{"wait":', JSON.stringify({ wait }), { wait: 1 }]
    const asked = inputs.map((input, order) => ({ id: `c${order}`, name: 'pawl:announce', input }))
    const outcomes = await runtime.session('b', { tenant: 't2' }).run(asked)
    expect(codes(outcomes)).toEqual(inputs.map(() => 'tool_unavailable'))
    expect(announced).toHaveLength(1)
  })
})
