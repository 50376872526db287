// A script that awaits run() and then close() is not ended early by an empty event loop.
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

/** Runs a program with one tool `t`, which calls it, prints `shows` and closes the runtime. */
const callOnce = (body: string, shows = 'outcome!.status') =>
  script(`
    const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', async execute(_, ctx) { ${body} } })
    const runtime = await createRuntime({ store: 'memory:', tools: [t] })
    const [outcome] = await runtime.session('s').run([{ id: '1', name: 't' }])
    console.log(${shows})
    await runtime.close()`)

describe('a program that awaits is kept alive', () => {
  test('DUR-5: by ctx.sleep', async () => {
    expect(await callOnce(`await ctx.sleep(300); return 'slept'`)).toEqual({ code: 0, out: 'success\n' })
  })
  test('DUR-4: by the retry delay of a step', async () => {
    const body = `let n = 0
      return ctx.step('a', () => { if (n++ < 1) throw new Error('busy'); return n }, { retry: { attempts: 3, delay: 200 } })`
    expect(await callOnce(body)).toEqual({ code: 0, out: 'success\n' })
  })
  test('DUR-4: by the timeout of a step', async () => {
    const body = `return ctx.step('a', () => new Promise<string>(() => {}), { timeout: 200 }).catch((error: { code: string }) => error.code)`
    expect(await callOnce(body, `outcome!.status === 'success' && outcome!.value`)).toEqual({
      code: 0,
      out: 'step_timeout\n',
    })
  })
  test('WAIT-1: by the deadline of a wait that run() awaits', async () => {
    expect(await callOnce('return ctx.later({ deadline: 300 })')).toEqual({ code: 0, out: 'failure\n' })
  })
  test('DUR-13: by the grace period of close()', async () => {
    const end = await script(`
      const t = tool({ name: 't', description: 'd', input, onCrash: 'rerun', async execute() { await new Promise(() => {}); return 1 } })
      const runtime = await createRuntime({ store: 'memory:', tools: [t] })
      runtime.session('s').run([{ id: '1', name: 't' }]).catch(() => {})
      await runtime.close({ grace: 300 })
      console.log('closed')`)
    expect(end).toEqual({ code: 0, out: 'closed\n' })
  })
})
