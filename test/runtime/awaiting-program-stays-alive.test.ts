// Plain programs, as a user writes them: a script that awaits run() and closes.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freshDir } from '../kit/stores/fresh-store.ts'

const root = join(import.meta.dirname, '..', '..')
function script(body: string): Promise<{ code: number | string; out: string }> {
  const file = join(freshDir(), 'script.ts')
  writeFileSync(
    file,
    `import { createRuntime, tool } from ${JSON.stringify(join(root, 'src/index.ts'))}\nconst input = { type: 'object' } as const\n${body}`,
  )
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--unhandled-rejections=strict', '--conditions=@pawl/source', file],
      { cwd: root, timeout: 15_000 },
      (error, stdout, stderr) => resolve({ code: error ? (error.code ?? 'killed') : 0, out: stdout + stderr }),
    )
  })
}

describe('a program that awaits is not ended in the middle of it', () => {
  test('DUR-5: ctx.sleep', async () => {
    const end = await script(`
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', async execute(_, ctx) { await ctx.sleep(300); return 'slept' } })
      const runtime = await createRuntime({ store: 'memory:', tools: [t] })
      console.log((await runtime.session('s').run([{ id: '1', name: 't' }]))[0]!.status)
      await runtime.close()`)
    expect(end).toEqual({ code: 0, out: 'success\n' })
  })
  test('DUR-4: a step that tries again', async () => {
    const end = await script(`
      let n = 0
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', async execute(_, ctx) {
        return ctx.step('a', () => { if (n++ < 1) throw new Error('busy'); return n }, { retry: { attempts: 3, delay: 200 } }) } })
      const runtime = await createRuntime({ store: 'memory:', tools: [t] })
      console.log((await runtime.session('s').run([{ id: '1', name: 't' }]))[0]!.status)
      await runtime.close()`)
    expect(end).toEqual({ code: 0, out: 'success\n' })
  })
  test('DUR-4: a step with a timeout', async () => {
    const end = await script(`
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', async execute(_, ctx) {
        return ctx.step('a', () => new Promise<string>(() => {}), { timeout: 200 }).catch((error: { code: string }) => error.code) } })
      const runtime = await createRuntime({ store: 'memory:', tools: [t] })
      const [o] = await runtime.session('s').run([{ id: '1', name: 't' }])
      console.log(o!.status === 'success' && o!.value)
      await runtime.close()`)
    expect(end).toEqual({ code: 0, out: 'step_timeout\n' })
  })
  test('WAIT-1: the deadline of a wait that run() waits for', async () => {
    const end = await script(`
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', async execute(_, ctx) { return ctx.later({ deadline: 300 }) } })
      const runtime = await createRuntime({ store: 'memory:', tools: [t] })
      console.log((await runtime.session('s').run([{ id: '1', name: 't' }]))[0]!.status)
      await runtime.close()`)
    expect(end).toEqual({ code: 0, out: 'failure\n' })
  })
  test('DUR-13: the grace of close(); without it nothing is handed back and the store is not closed', async () => {
    const end = await script(`
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', async execute() { await new Promise(() => {}); return 1 } })
      const runtime = await createRuntime({ store: 'memory:', tools: [t] })
      runtime.session('s').run([{ id: '1', name: 't' }]).catch(() => {})
      await runtime.close({ grace: 300 })
      console.log('closed')`)
    expect(end).toEqual({ code: 0, out: 'closed\n' })
  })
})
