// SQLite failures: each gives one clear error with a remedy, loses nothing acknowledged, and recovers by itself where
// possible.

import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, tool } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { Unlucky } from '../../kit/processes/store-user-process.ts'

const dirs: string[] = []
const children: Unlucky[] = []
function fresh(): string {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-bad-'))
  dirs.push(dir)
  return dir
}
async function unlucky(how?: Parameters<typeof Unlucky.start>[0]): Promise<Unlucky> {
  const child = await Unlucky.start(how)
  children.push(child)
  return child
}
afterEach(() => {
  for (const child of children.splice(0)) child.end()
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
})

const echo = tool({
  name: 'echo',
  description: 'e',
  input: { type: 'object' },
  hints: { readOnly: true },
  execute: (given) => given,
})
const said = async (store: string): Promise<{ code: string; message: string }> =>
  createRuntime({ store, tools: [echo] }).then(
    async (runtime) => (await runtime.close(), { code: 'opened', message: '' }),
    (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
  )

/** A cleanly closed store with a hundred settled calls. */
async function filled(dir: string): Promise<string> {
  const file = join(dir, 'a.db')
  const runtime = await createRuntime({ store: `sqlite:${file}`, tools: [echo] })
  await runtime
    .session('s')
    .run(Array.from({ length: 100 }, (_, n) => ({ id: `${n}`, name: 'echo', input: { text: 'x'.repeat(400), n } })))
  await runtime.close()
  return file
}

describe('an unusable file is reported clearly and left unchanged', () => {
  test('DUR-9: a non-database file, a folder and a foreign database are rejected', async () => {
    const dir = fresh()
    const text = join(dir, 'notes.txt')
    writeFileSync(text, 'These are my notes. '.repeat(100))
    expect(await said(`sqlite:${text}`)).toEqual({
      code: 'store_not_pawl',
      message: expect.stringMatching(/notes.txt' is not a database.*was not changed/),
    })
    expect(readFileSync(text, 'utf8')).toBe('These are my notes. '.repeat(100))
    mkdirSync(join(dir, 'folder'))
    expect(await said(`sqlite:${join(dir, 'folder')}`)).toEqual({
      code: 'store_unavailable',
      message: expect.stringMatching(/cannot be opened.*not a file/),
    })
    const other = new DatabaseSync(join(dir, 'other.db'))
    other.exec('CREATE TABLE mine (x); INSERT INTO mine VALUES (1)')
    other.close()
    const before = readFileSync(join(dir, 'other.db'))
    expect(await said(`sqlite:${join(dir, 'other.db')}`)).toEqual({
      code: 'store_not_pawl',
      message: expect.stringMatching(/another program/),
    })
    expect(readFileSync(join(dir, 'other.db'))).toEqual(before)
  })

  test('DUR-9: a truncated or overwritten file is rejected as damaged', async () => {
    const file = await filled(fresh())
    const whole = readFileSync(file)
    const cut = join(fresh(), 'cut.db')
    copyFileSync(file, cut)
    truncateSync(cut, Math.floor(statSync(cut).size / 2 / 4096) * 4096)
    expect(await said(`sqlite:${cut}`)).toEqual({
      code: 'store_damaged',
      message: expect.stringMatching(/cut.db'.*restore a backup/),
    })
    const torn = join(fresh(), 'torn.db')
    const bytes = Buffer.from(whole)
    bytes.fill(0xff, 100, 4096)
    writeFileSync(torn, bytes)
    expect(await said(`sqlite:${torn}`)).toMatchObject({ code: expect.stringMatching(/store_damaged|store_not_pawl/) })
    // Damage that opening does not touch is reported by health().
    const hurt = join(fresh(), 'hurt.db')
    const some = Buffer.from(whole)
    for (let page = 36; page < some.length / 4096; page += 3) some.fill(0xee, page * 4096, page * 4096 + 200)
    writeFileSync(hurt, some)
    copyFileSync(`${file}-key`, `${hurt}-key`)
    const runtime = await createRuntime({
      store: `sqlite:${hurt}`,
      tools: [echo],
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    })
    const { findings } = await runtime.health()
    expect(findings.map(({ kind, says }) => `${kind}: ${says}`)).toContainEqual(
      expect.stringMatching(/^store: .*is damaged.*[Rr]estore/s),
    )
    await runtime.close()
  })

  test.skipIf(process.getuid?.() !== 0)('DUR-6: a file or folder without write permission is reported', async () => {
    const nobody = 65_534
    const dir = fresh()
    const file = await filled(dir)
    chmodSync(dir, 0o777)
    chmodSync(file, 0o444)
    const child = await unlucky({ uid: nobody })
    expect(await child.tell({ do: 'open', store: `sqlite:${file}` })).toEqual({
      code: 'store_unavailable',
      message: expect.stringMatching(/is not writable by this user/),
    })
    const shut = fresh()
    chmodSync(shut, 0o555)
    expect(await child.tell({ do: 'open', store: `sqlite:${join(shut, 'new.db')}` })).toEqual({
      code: 'store_unavailable',
      message: expect.stringMatching(/cannot be opened.*is not writable/),
    })
    // The file is writable, but its folder is not.
    const half = fresh()
    const copy = join(half, 'a.db')
    copyFileSync(file, copy)
    chmodSync(copy, 0o666)
    chownSync(copy, nobody, nobody)
    chmodSync(half, 0o555)
    expect(await child.tell({ do: 'open', store: `sqlite:${copy}` })).toMatchObject({ code: 'store_unavailable' })
    // Once the permissions are fixed, the same process can open it.
    chmodSync(file, 0o666)
    chmodSync(`${file}-key`, 0o644)
    expect(await child.tell({ do: 'open', store: `sqlite:${file}` })).toEqual({})
    expect(await child.tell({ do: 'run', ids: ['new'] })).toMatchObject({
      outcomes: [{ id: 'new', status: 'success' }],
    })
  })

  test('WAIT-3: a different secret is rejected at open', async () => {
    const file = join(fresh(), 'a.db')
    const [one, other] = ['a'.repeat(32), 'b'.repeat(32)]
    await (await createRuntime({ store: `sqlite:${file}`, keys: { secret: one } })).close()
    await expect(createRuntime({ store: `sqlite:${file}`, keys: { secret: other } })).rejects.toMatchObject({
      code: 'keys_mismatch',
      message: expect.stringMatching(/Start with the secret the store was created with/),
    })
    await (await createRuntime({ store: `sqlite:${file}`, keys: { secret: one } })).close()
  })
})

test(
  'DUR-6: a full disk is reported, loses nothing acknowledged, and the batch can be repeated',
  { timeout: 60_000 },
  async () => {
    const file = join(fresh(), 'a.db')
    const child = await unlucky({ fileBlocks: 3000 })
    expect(await child.tell({ do: 'open', store: `sqlite:${file}` })).toEqual({})
    const acknowledged: string[] = []
    let refused: { code?: string; message?: string } = {}
    for (let n = 0; refused.code === undefined && n < 200; n++) {
      const told = await child.tell({ do: 'run', ids: [`c${n}`], bytes: 20_000 })
      if (told.outcomes) acknowledged.push(`c${n}`)
      else refused = told
    }
    expect(refused).toEqual({ code: 'store_unavailable', message: expect.stringMatching(/a.db.*(no room|full)/) })
    expect(acknowledged.length).toBeGreaterThan(3)
    // The error persists while the disk is full, and the process survives.
    for (let n = 0; n < 3; n++)
      expect(await child.tell({ do: 'run', ids: [`more${n}`], bytes: 20_000 })).toMatchObject({
        code: 'store_unavailable',
      })
    expect(child.exited).toBe(null)
    await child.room()
    const failed = [`c${acknowledged.length}`, 'more0', 'more1', 'more2']
    expect(await child.tell({ do: 'run', ids: failed, bytes: 20_000 })).toMatchObject({
      outcomes: failed.map((id) => ({ id, status: 'success' })),
    })
    expect(await child.tell({ do: 'read', ids: acknowledged })).toEqual({
      outcomes: acknowledged.map((id) => ({ id, status: 'success', attempts: 1 })),
    })
    expect((await child.tell({ do: 'doctor' })).findings).toEqual([])
    await child.tell({ do: 'close' })
    const db = new DatabaseSync(file)
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
  },
)

test(
  'DUR-6: a file locked by another process is reported, and works after the lock is released',
  { timeout: 60_000 },
  async () => {
    const file = join(fresh(), 'a.db')
    const child = await unlucky()
    expect(await child.tell({ do: 'open', store: `sqlite:${file}`, lease: '60s' })).toEqual({})
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    expect(await child.tell({ do: 'run', ids: ['a'] })).toEqual({
      code: 'store_unavailable',
      message: expect.stringMatching(/locked/),
    })
    other.exec('ROLLBACK')
    other.close()
    expect(await child.tell({ do: 'run', ids: ['a'] })).toMatchObject({ outcomes: [{ status: 'success' }] })
  },
)
