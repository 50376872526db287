// Acknowledged intake: `accepted` of session.run(), session.call() and session.turn().

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { hang, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { onEveryStore, until } from '../kit/stores/all-stores.ts'
import { countCommits } from '../kit/stores/count-commits.ts'
import { freshDir, freshSqlite, lost, faulty, quiet } from '../kit/stores/fresh-store.ts'

const work = rerunTool('work', () => 'done')
const stuck = rerunTool('work', () => hang())

onEveryStore('accepted', ({ worker, kind }) => {
  const session = (name: string): string => `${kind} ${name}`

  test.for([true, false])('CALL-13: a run that was accepted survives its process (worker: %s)', async (works) => {
    const id = session(`run ${works}`)
    const web = await worker({ tools: [stuck], worker: works })
    const run = web.runtime.session(id).run([{ id: 'a', name: 'work' }], { batch: 'b' })
    await run.accepted
    await web.die()
    const { runtime } = await worker({ tools: [work] })
    expect(await runtime.session(id).run([{ id: 'a', name: 'work' }], { batch: 'b' })).toMatchObject([
      { value: 'done' },
    ])
    await runtime.close({ grace: 0 })
  })

  test.for([true, false])('CALL-13: a turn that was accepted survives its process (worker: %s)', async (works) => {
    const id = session(`turn ${works}`)
    const hanging = { ...scriptedModel(['Hello']), generate: () => hang() as never }
    const web = await worker({ models: [hanging], worker: works })
    await web.runtime.session(id).turn({ model: hanging, message: 'Hi', id: 't' }).accepted
    await web.die()
    const model = scriptedModel(['Hello'])
    const { runtime } = await worker({ models: [model] })
    const retried = runtime.session(id).turn({ model, message: 'Hi', id: 't' })
    expect(await retried.outcome).toMatchObject({ status: 'success', value: { text: 'Hello' } })
    expect(await runtime.session(id).messages.list()).toHaveLength(2)
    await runtime.close({ grace: 0 })
  })

  test('CALL-13: a call that was accepted is on record', async () => {
    const { runtime } = await worker({ tools: [stuck] })
    const call = runtime.session(session('call')).call(stuck, {}, { id: 'a' })
    await call.accepted
    expect(await runtime.session(session('call')).calls.get('a')).toMatchObject({ callId: 'a' })
    await runtime.close({ grace: 0 })
  })
})

test('CALL-13: accepted rejects for invalid requests, and the process goes on', async () => {
  const { store, clock } = freshSqlite()
  const runtime = await createRuntime({ store, clock, tools: [work], logger: quiet })
  const session = runtime.session('s')
  await expect(session.run([{ id: '', name: 'work' }]).accepted).rejects.toMatchObject({ code: 'call_invalid' })
  const model = scriptedModel(['Hello', 'Hello'])
  await session.turn({ model, message: 'Hi', id: 't' }).outcome
  const conflict = session.turn({ model, message: 'Another', id: 't' })
  await expect(conflict.accepted).rejects.toMatchObject({ code: 'turn_conflict' })
  await session.end()
  await expect(session.turn({ model, message: 'Late' }).accepted).rejects.toMatchObject({ code: 'session_ended' })
  await runtime.close()
})

test('CALL-13: accepted rejects if the store does not take the request', async () => {
  const { store, clock } = freshSqlite()
  const faults = { onCommit: () => {} }
  const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [stuck], logger: quiet })
  faults.onCommit = lost
  const run = runtime.session('s').run([{ id: 'a', name: 'work' }])
  await expect(run.accepted).rejects.toMatchObject({ code: 'store_unavailable' })
  faults.onCommit = () => {}
  await runtime.close({ grace: 0 })
})

test('CALL-13: calls that conflict or were not started do not hold back accepted', async () => {
  const { store, clock } = freshSqlite()
  const runtime = await createRuntime({ store, clock, tools: [simpleTool('work', () => 'done')], logger: quiet })
  const session = runtime.session('s')
  await session.run([{ id: 'a', name: 'work', input: {} }])
  const run = session.run([{ id: 'a', name: 'work', input: { other: 1 } }])
  await run.accepted
  expect(await run).toMatchObject([{ failure: { code: 'call_conflict' } }])
  const stopped = session.run([{ id: 'b', name: 'work' }], { signal: AbortSignal.abort() })
  await stopped.accepted
  expect(await stopped).toMatchObject([{ status: 'cancelled' }])
  await runtime.close()
})

test('CALL-13: a run whose accepted is not read causes no commit of its own', async () => {
  const commits = countCommits()
  const file = join(freshDir(), 'a.db')
  const store = sqliteStore({ file, commit: 'power', clock: systemClock })
  const runtime = await createRuntime({ store, tools: [work], logger: quiet })
  const session = runtime.session('s')
  commits.take()
  await session.run([{ id: 'a', name: 'work' }])
  const without = commits.take()
  const run = session.run([{ id: 'b', name: 'work' }])
  await run.accepted
  await run
  expect(commits.take()).toBeGreaterThanOrEqual(without)
  expect(without).toBe(1)
  await runtime.close()
})

test.for(['run', 'turn'])('CALL-13: SIGKILL right after accepted loses nothing (%s)', async (what) => {
  for (const worker of ['worker', 'web']) {
    const file = join(freshDir(), 'agent.db')
    const child = fork(join(import.meta.dirname, 'child-accepts.ts'), [file, what, worker], {
      execArgv: ['--conditions=@pawl/source'],
    })
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' })
    const model = scriptedModel(['Hello'])
    const runtime = await createRuntime({ store: `sqlite:${file}`, tools: [work], models: [model], logger: quiet })
    const { calls, messages } = runtime.session('s')
    // The request goes on by itself: the client does not send it again.
    if (what === 'run') await until(async () => (await calls.get('a'))?.outcome?.status === 'success')
    else await until(async () => (await messages.list()).length === 2)
    await runtime.close()
  }
})
