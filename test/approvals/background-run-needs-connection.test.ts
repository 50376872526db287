// A background run that needs a connection which nobody makes: it fails, and its session reads why.

import { connectionRequired, type Runtime, type Task, type Tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { ada, bea, worldOn } from '../kit/approval-workers.ts'
import { simpleTool } from '../kit/simple-tools.ts'

const issues = simpleTool('issues', { background: true }, async (_, ctx) => {
  if (!(await ctx.connection('github'))) return connectionRequired('github')
  return ['#1']
})
const digest: Tool = simpleTool('digest', { background: true }, async (_, ctx) => {
  const end = await ctx.call(issues, {})
  return end.status === 'failure' ? end.failure.code : end.status
})
const failed = {
  state: 'failed',
  outcome: {
    status: 'failure',
    failure: { code: 'connection_required', class: 'permission_denied', message: expect.stringContaining('github') },
  },
}
const required = { status: 'success', value: { connection_required: 'github' } }

describe.each(['memory', 'sqlite'] as const)('a needed connection in the background on %s', (kind) => {
  const world = worldOn(kind)
  const unattended = (runtime: Runtime) => runtime.session('s', { ...ada, attended: false })
  const ended = async (runtime: Runtime, id: string): Promise<Task | undefined> => {
    await world.clock.advance('1s')
    return runtime.session('s').tasks.get(id)
  }

  test('POL-5: an unattended background run fails, and a foreground call does not', async () => {
    const runtime = await world.start([issues])
    const session = unattended(runtime)
    expect(await session.run([{ id: 'a', name: 'issues' }])).toMatchObject([required])
    const { id } = await session.tasks.start({ tool: 'issues' })
    expect(await ended(runtime, id)).toMatchObject(failed)
    const [notice] = await session.notices.list()
    expect(notice?.text).toMatch(/finished: failed\.[^]*needs a connection to github, and no person has connected it/)
  })

  test('POL-5: an attended background run fails when the request expires, and resumes when connected', async () => {
    const runtime = await world.start([issues])
    const session = runtime.session('s', ada)
    const late = await session.tasks.start({ tool: 'issues' })
    await world.clock.advance('16m')
    expect(await ended(runtime, late.id)).toMatchObject(failed)
    const served = await session.tasks.start({ tool: 'issues' })
    await world.item(runtime)
    await runtime.connections.set({ provider: 'github', principal: ada.principal }, { token: 'x'.repeat(20), ...bea })
    expect(await ended(runtime, served.id)).toMatchObject({ state: 'succeeded', outcome: { value: ['#1'] } })
  })

  test('POL-5: the body of a background run sees the failure of its nested call', async () => {
    const runtime = await world.start([issues, digest])
    const { id } = await unattended(runtime).tasks.start({ tool: 'digest' })
    expect(await ended(runtime, id)).toMatchObject({ state: 'succeeded', outcome: { value: 'connection_required' } })
    expect(await unattended(runtime).run([{ id: 'a', name: 'digest' }])).toMatchObject([{ value: 'success' }])
  })

  test('POL-5: a call moved to the background fails too', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = simpleTool('slow', { background: true }, async () => {
      await gate.promise
      return connectionRequired('github')
    })
    const runtime = await world.start([slow])
    const session = unattended(runtime)
    const run = session.run([{ id: 'a', name: 'slow' }])
    await world.clock.advance('1s')
    const task = await session.tasks.adopt('a')
    await run
    gate.resolve()
    expect(await ended(runtime, task?.id ?? '')).toMatchObject(failed)
  })
})
