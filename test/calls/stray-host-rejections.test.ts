// Stray errors of hooks, policies, schemas and key functions must not end the process.

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
    `import { createRuntime, tool } from ${JSON.stringify(join(root, 'src/index.ts'))}
const input = { type: 'object' } as const
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const stray = (): void => { setImmediate(() => { throw new Error('stray') }); void Promise.reject(new Error('astray')) }
const turns = async () => { for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve)) }
${body}`,
  )
  return new Promise((resolve) => {
    execFile(process.execPath, ['--conditions=@pawl/source', file], { cwd: root, timeout: 15_000 }, (error, stdout) =>
      resolve({ code: error ? (error.code ?? 'killed') : 0, out: stdout }),
    )
  })
}
const plain = `const t = tool({ name: 't', description: 'd', input, execute: () => 1 })`
const go = (options: string): string => `
const runtime = await createRuntime({ store: 'memory:', tools: [t], logger, ${options} })
const [o] = await runtime.session('s').run([{ id: '1', name: 't' }])
await turns()
console.log(o!.status)
await runtime.close()`
const alive = { code: 0, out: 'success\n' }

describe('CALL-11: stray throws and rejections of host callbacks are contained', () => {
  test('of a before hook', async () => {
    expect(await script(`${plain}${go(`hooks: [{ name: 'h', before: () => stray() }]`)}`)).toEqual(alive)
  })
  test('of an after hook', async () => {
    expect(await script(`${plain}${go(`hooks: [{ name: 'h', after: () => stray() }]`)}`)).toEqual(alive)
  })
  test('of a policy function', async () => {
    expect(await script(`${plain}${go(`policy: { decide: () => { stray(); return 'allow' } }`)}`)).toEqual(alive)
  })
  test('of a key function', async () => {
    expect(
      await script(
        `const t = tool({ name: 't', description: 'd', input, concurrency: { key: () => { stray(); return 'k' } }, execute: () => 1 })${go('')}`,
      ),
    ).toEqual(alive)
  })
  test('of a Standard Schema validator', async () => {
    expect(
      await script(
        `const schema = { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => { stray(); return { value } }, jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) } } }
const t = tool({ name: 't', description: 'd', input: schema as never, execute: () => 1 })${go('')}`,
      ),
    ).toEqual(alive)
  })
})
