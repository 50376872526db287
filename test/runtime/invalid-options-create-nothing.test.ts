import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createRuntime } from '../../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-options-'))
afterAll(() => rmSync(folder, { recursive: true }))

const model = { name: 'same', generate: () => Promise.reject(new Error('not asked')) }
const invalid: Record<string, object> = {
  encrypt: { encrypt: 'yes' },
  wake: { wake: { maxConsecutive: 0 } },
  files: { files: { folder: '/tmp' } },
  values: { values: { maxKeys: -1 } },
  models: { models: [model, model] },
  limits: { limits: { perWorker: 0 } },
  schedules: { schedules: { unknown: 1 } },
  tools: { tools: [{ name: 'not made by tool()' }] },
}

test.for(Object.entries(invalid))('CALL-12: an invalid option creates no file (%s)', async ([name, options]) => {
  const path = join(folder, `${name}.db`)
  await expect(createRuntime({ store: `sqlite:${path}`, ...options })).rejects.toThrow()
  expect(existsSync(path)).toBe(false)
})
