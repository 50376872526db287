// A worker dies before or after any write of a call that changes files; recovery completes the call as if nothing
// happened.

import { describe, expect, test } from 'vitest'
import { toolbox } from 'pawl/toolbox'
import type { Store } from '../../../src/store/store.ts'
import { mortalWorld, type FreshWorld } from '../../kit/worker-takeover.ts'
import { hashOf } from '../../../src/toolbox/files/file-tool-errors.ts'
import { mortal, type Mortal } from '../../kit/stores/killable-store.ts'

const policy = { rules: [{ then: 'allow' }] } as const
const seed = 'one\ntwo\nthree\n'
const calls = {
  'a new file': { name: 'write_file', input: { path: 'new/file', content: 'content' } },
  'a replaced file': { name: 'write_file', input: { path: 'seed', content: 'content' } },
  'an edit': {
    name: 'edit_file',
    input: { path: 'seed', expected_hash: hashOf(seed), edits: [{ old_text: 'two', new_text: 'zwei\ndrei' }] },
  },
  'a deleted file': { name: 'delete_file', input: { path: 'seed' } },
  'a deleted directory': { name: 'delete_file', input: { path: 'd', recursive: true } },
}

/** Dies at its n-th write, which is lost or stored depending on `when`; the worker gets no answer. */
function dyingAt({ store, die }: Mortal, at: number, when: 'before' | 'after'): { store: Store; died: () => boolean } {
  let writes = 0
  const counted = (write: () => void): void => {
    writes++
    if (writes === at && when === 'before') die()
    write()
    if (writes === at) die()
  }
  return {
    died: () => writes >= at,
    store: {
      ...store,
      write(change, heard, how) {
        counted(() => store.write(change, (answer) => (writes < at ? heard(answer) : undefined), how))
      },
      commit: (change) =>
        new Promise((resolve, reject) => {
          counted(() => void store.commit(change).then((answer) => (writes < at ? resolve(answer) : undefined), reject))
        }),
    },
  }
}

for (const kind of ['memory', 'sqlite'] as const) {
  describe(`crash during a file change, on ${kind}`, () => {
    let fresh: FreshWorld
    const { start } = mortalWorld(kind, (world) => (fresh = world))

    test.for(Object.entries(calls))(
      'BOX-2, DUR-3: recovery after a crash at any write completes the call: %s',
      { timeout: 60_000 },
      async ([, { name, input }]) => {
        // The expected result: the same call without a crash, in its own session.
        const calm = await start(toolbox.all(), fresh.store, { policy })
        const session = (id: string) => calm.session(id)
        const prepared = async (id: string): Promise<void> => {
          await session(id).files.write('seed', seed)
          await session(id).files.write('d/e', '')
        }
        await prepared('calm')
        const [clean] = await session('calm').run([{ id: 'c', name, input }])
        const after = async (id: string): Promise<string> =>
          (await session(id).files.glob('**')).entries.map(({ path, hash }) => `${path} ${hash}`).join()
        const expected = await after('calm')
        expect(clean).toMatchObject({ status: 'success' })
        let points = 0
        for (let at = 1, more = true; more; at++) {
          for (const when of ['before', 'after'] as const) {
            const id = `crash-${at}-${when}`
            await prepared(id)
            const worker = dyingAt(mortal(fresh.store), at, when)
            const first = await start(toolbox.all(), worker.store, { policy })
            const run = first.session(id).run([{ id: 'c', name, input }])
            const ended = await Promise.race([run, until(worker.died)])
            if (ended !== undefined) {
              more = false
              await first.close({ grace: 0 })
              break
            }
            points++
            await fresh.clock.advance('31s')
            const [outcome] = await session(id).run([{ id: 'c', name, input }])
            expect(outcome, `${at} ${when}`).toMatchObject({
              status: 'success',
              value: (clean as { value: unknown }).value,
            })
            expect(await after(id), `${at} ${when}`).toBe(expected)
          }
        }
        expect(points).toBeGreaterThan(4)
      },
    )
  })
}

/** Turns the event loop until the condition holds. */
async function until(is: () => boolean): Promise<undefined> {
  while (!is()) await new Promise((resolve) => setImmediate(resolve))
}
