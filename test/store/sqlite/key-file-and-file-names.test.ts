import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRuntime, type Runtime } from '../../../src/index.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pawl-key-'))
  file = join(dir, 'agent.db')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const open = (): Promise<Runtime> => createRuntime({ store: `sqlite:${file}` })

test.each(['sqlite://agent.db', 'sqlite://./agent.db', 'sqlite://data/agent.db'])(
  'DUR-1: %s is refused with both ways to write the file name',
  async (store) => {
    const name = store.slice('sqlite://'.length)
    await expect(createRuntime({ store })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`write 'sqlite:${name}' for a relative file, or 'sqlite:/${name}'`) as string,
    })
  },
)

test.each([
  ['sqlite://', "it must be 'memory:', 'sqlite:<file>'"],
  ['sqlite: ', 'name a file'],
  ['sqlite:agent.db?mode=memory', "it takes no parameters, so give the path alone: 'sqlite:agent.db'."],
  ['sqlite:data/', "which is a folder; name a file in it: 'sqlite:data/agent.db'."],
  ['sqlite: agent.db', "leave out the spaces around the name: 'sqlite:agent.db'."],
])('DUR-1: %j is refused and creates no file', async (store, message) => {
  const before = process.cwd()
  process.chdir(dir)
  try {
    const expected = { code: 'config_invalid', message: expect.stringContaining(message) as string }
    await expect(createRuntime({ store })).rejects.toMatchObject(expected)
    expect(readdirSync(dir)).toEqual([])
  } finally {
    process.chdir(before)
  }
})

test('DUR-1: sqlite:/// names an absolute file', async () => {
  const runtime = await createRuntime({ store: `sqlite://${file}` })
  await runtime.close()
  expect(readdirSync(dir)).toContain('agent.db')
})

test.each([
  ['missing', () => rmSync(`${file}-key`)],
  ['empty', () => truncateSync(`${file}-key`, 0)],
])('DUR-12: a store whose key file is %s does not open, names the file and writes nothing', async (_, lose) => {
  await (await open()).close()
  const key = readFileSync(`${file}-key`)
  lose()
  const before = readdirSync(dir).toSorted()
  await expect(open()).rejects.toMatchObject({
    code: 'key_file_missing',
    message: expect.stringMatching(/encrypted data cannot be read.*agent\.db-key'.*from a backup/) as string,
  })
  expect(readdirSync(dir).toSorted()).toEqual(before)
  writeFileSync(`${file}-key`, key, { mode: 0o600 })
  await (await open()).close()
})
