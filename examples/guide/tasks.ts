// More code of docs/guide/background.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, tool } from 'pawl'
import { runProcess } from 'pawl/toolbox'
import { z } from 'zod'

const render = async (scene: string, on: (line: string) => void): Promise<string> => {
  on(`rendering ${scene}\n`)
  return `${scene}.mp4`
}

// #region sink
const film = tool({
  name: 'film',
  description: 'Render a scene',
  input: z.object({ scene: z.string() }),
  execute: ({ scene }) => `${scene}: use the background`, // as a call that somebody waits for
  background: {
    // as a task: a body of its own, with a hand to tell of its work
    async execute({ scene }, ctx, sink) {
      sink.status('Rendering')
      sink.progress({ current: 0, total: 1 })
      const file = await render(scene, (line) => sink.output('stdout', line))
      await sink.artifact({ name: 'film', type: 'video/mp4', url: `https://films.example/${file}` })
      await sink.message(`${file} is ready`)
      return file
    },
    recovery: 'owner_bound', // a lost worker does not mean a second try: it is abandoned, and says so
    timeout: '2h',
    grace: '10s',
  },
})
// #endregion

// #region signals
const deploy = tool({
  name: 'deploy',
  description: 'Deploy a version, step by step',
  input: z.object({ version: z.string() }),
  onCrash: 'rerun',
  background: { events: { deployed: { schema: z.object({ stage: z.string() }), wake: true } } },
  async execute({ version }, ctx) {
    await ctx.emit('deployed', { stage: 'canary' }, { key: 'canary' }) // once, however often the body runs
    const go = await ctx.task?.signal<{ ok: boolean }>('go') // the n-th signal meets the n-th wait; an early one is kept
    if (!go?.ok) return 'stopped'
    const region = await ctx.task?.request('Which region first?') // asks the session, not a person: that is ctx.ask
    return `${version} in ${region?.text ?? ''}`
  },
})
// #endregion

// #region program
const build = tool({
  name: 'build',
  description: 'Build the project',
  input: z.object({ target: z.enum(['echo', 'sleep']) }),
  background: true,
  async execute({ target }, ctx) {
    const script = target === 'echo' ? 'echo built' : 'sleep 999 & sleep 999'
    const end = await runProcess('sh', ['-c', script], {
      signal: ctx.signal,
      onOutput: (text, stream) => ctx.output(text, stream),
    })
    return { code: end.code, killedBy: end.killedBy }
  },
})
// #endregion

const slow = tool({
  name: 'slow_query',
  description: 'A query that may take long',
  input: z.object({}),
  background: { after: '10ms' },
  execute: () => new Promise<string>((resolve) => setTimeout(resolve, 100, '42 rows')),
})

const runtime = await createRuntime({ store: 'memory:', tools: [film, deploy, slow, build] })
const session = runtime.session('chat-42')

// #region model
const [started] = await session.run([
  { id: 'call_1', name: 'spawn_background', input: { tool: 'film', args: { scene: 'dawn' }, title: 'Dawn' } },
])
const { task_id } = (started?.status === 'success' ? started.value : {}) as { task_id: string }
const [waited] = await session.run([{ id: 'call_2', name: 'wait_task', input: { task_id, timeout_seconds: 60 } }])
assert.partialDeepStrictEqual(waited, {
  status: 'success',
  value: { task: { state: 'succeeded', summary: 'dawn.mp4' }, timed_out: false },
})
// #endregion

// #region told
const { id } = await session.tasks.start({ tool: deploy, input: { version: 'v2' }, wake: 'on_activity' })
await session.tasks.signal(id, 'go', { ok: true })
const asking = await session.tasks.wait(id, { until: 'input' })
assert.equal(asking.inputRequest?.prompt, 'Which region first?')
await session.tasks.message(id, 'eu-1', { inReplyTo: asking.inputRequest.id })
const ended = await session.tasks.wait(id)
assert.equal(ended.outcome?.status === 'success' && ended.outcome.value, 'v2 in eu-1')
// #endregion

// #region moved
const [handle] = await session.run([{ id: 'call_3', name: 'slow_query' }]) // it takes longer than its tool's `after`
const moved = (handle?.status === 'success' ? handle.value : {}) as { task_id: string; status: string }
assert.equal(moved.status, 'running') // the model gets a handle and goes on
const later = await session.tasks.wait(moved.task_id)
assert.equal(later.outcome?.status === 'success' && later.outcome.value, '42 rows') // and is told the result in a notice
// #endregion

// #region cancel
const building = await session.tasks.start({ tool: build, input: { target: 'sleep' } })
await session.tasks.cancel(building.id, 'No longer needed', 'user:ada')
assert.equal((await session.tasks.wait(building.id)).state, 'cancelled') // and both sleeps are gone
// #endregion

// #region end
const last = await session.tasks.start({ tool: film, input: { scene: 'dusk' }, onEnd: 'abandon' }) // it outlives its session
await session.end({ reason: 'The customer has left' }) // the others are cancelled, also if this process dies now
assert.equal((await session.tasks.wait(last.id)).state, 'succeeded')
// #endregion

await runtime.close()
