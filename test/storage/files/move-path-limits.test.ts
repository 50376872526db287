// A move that would create paths beyond the limits is rejected, in the store and in a folder.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

describe.each(['store', 'folder'] as const)('files in a %s', (kind) => {
  const open = async () => {
    const { clock, store } = freshMemory()
    const root = mkdtempSync(join(tmpdir(), 'adv-files-'))
    const runtime = await createRuntime({
      store,
      clock,
      logger: quiet,
      ...(kind === 'folder' ? { files: { folder: () => root } } : {}),
    })
    runtimes.push(runtime)
    return runtime.session('s').files
  }
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: { code: string }) => error.code,
    )

  test.each([
    [
      'deeper than 64 names',
      Array.from({ length: 50 }, (_, n) => `d${n}`).join('/'),
      Array.from({ length: 20 }, (_, n) => `t${n}`).join('/'),
    ],
    [
      'longer than 1,024 bytes',
      ['a'.repeat(200), 'b'.repeat(200), 'c'.repeat(200)].join('/'),
      ['x'.repeat(200), 'y'.repeat(200), 'z'.repeat(200)].join('/'),
    ],
  ])('moving a directory so that its files would be %s leaves every file reachable', async (_, deep, target) => {
    const files = await open()
    await files.write(`/top/${deep}/f.txt`, 'kept')
    const moved = await codeOf(files.move('/top', `/${target}/top`))
    const at = moved === 'done' ? `/${target}/top/${deep}/f.txt` : `/top/${deep}/f.txt`
    expect(await codeOf(files.read(at))).toBe('done')
  })
})
