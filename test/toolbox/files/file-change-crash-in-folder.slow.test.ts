// Like file-change-crash-in-store.test.ts, but with files in a real folder outside the store, and with processes that
// are killed with SIGKILL at their writes.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { toolbox } from 'pawl/toolbox'
import { expect, test } from 'vitest'
import { hashOf } from '../../../src/toolbox/files/file-tool-errors.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const seed = 'one\ntwo\nthree\n'
const calls = {
  'a new file': { name: 'write_file', input: { path: 'new/file', content: 'content' } },
  'an edit': {
    name: 'edit_file',
    input: { path: 'seed', expected_hash: hashOf(seed), edits: [{ old_text: 'two', new_text: 'zwei' }] },
  },
  'a deleted file': { name: 'delete_file', input: { path: 'seed' } },
}

const child = join(import.meta.dirname, 'child-file-change.ts')
const all = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    // Temporary files of a killed writer do not count.
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.pawl-unfinished-'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path.slice(folder.length)} ${readFileSync(path, 'utf8')}`)
    .toSorted()

test.for(Object.entries(calls))(
  'BOX-2, DUR-3: after SIGKILL at any write recovery completes the call in a folder: %s',
  { timeout: 240_000 },
  async ([, call]) => {
    const place = mkdtempSync(join(tmpdir(), 'pawl-kill-'))
    try {
      const run = (at: number, when: string) => {
        const own = join(place, `${at}-${when}`)
        const folder = join(own, 'files')
        mkdirSync(folder, { recursive: true })
        writeFileSync(join(folder, 'seed'), seed)
        const args = [
          '--conditions=@pawl/source',
          child,
          join(own, 'agent.db'),
          folder,
          String(at),
          when,
          JSON.stringify(call),
        ]
        const { stdout, stderr, signal } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
        if (signal === null && stdout === '') throw new Error(stderr)
        return {
          file: join(own, 'agent.db'),
          folder,
          outcome: signal === null ? (JSON.parse(stdout) as { value: unknown }) : null,
        }
      }
      const clean = run(0, 'never')
      const expected = { outcome: clean.outcome, files: all(clean.folder) }
      expect(expected.outcome).toMatchObject({ status: 'success' })
      let points = 0
      for (let at = 1, more = true; more; at++) {
        const { file, folder, outcome } = run(at, 'after')
        more = outcome === null
        if (!more) break
        points++
        // Advance past the expiry of the folder lock that the dead process held.
        const clock = manualClock(Date.now() + 60_000)
        const options = {
          clock,
          logger: quiet,
          policy: { rules: [{ then: 'allow' }] } as const,
          files: { folder: () => folder },
        }
        const runtime = await createRuntime({ store: `sqlite:${file}`, tools: toolbox.all(), ...options })
        let over = false
        const again = runtime
          .session('s')
          .run([{ id: 'c', ...call }])
          .finally(() => (over = true))
        // Advance until recovery has completed the call; the disk takes real time.
        while (!over) await clock.advance(10)
        expect(await again, `after write ${at}`).toMatchObject([{ status: 'success', value: expected.outcome?.value }])
        expect(all(folder), `after write ${at}`).toEqual(expected.files)
        await runtime.close({ grace: 0 })
      }
      expect(points).toBeGreaterThan(4)
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  },
)
