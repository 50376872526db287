import { toolbox } from 'pawl/toolbox'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { type FreshWorld, mortalWorld } from '../../kit/worker-takeover.ts'

const policy = { rules: [{ then: 'allow' }] } as const

/** A store view that dies once `over` returns true, which is checked after each of its commits. */
function dyingOnce(store: Store, over: () => Promise<boolean>): { store: Store; died: Promise<void> } {
  const { store: own, die } = mortal(store)
  const death = Promise.withResolvers<void>()
  const looked = async <T>(answer: T): Promise<T> => {
    if (!(await over())) return answer
    die()
    death.resolve()
    return new Promise<never>(() => {})
  }
  return {
    died: death.promise,
    store: {
      ...own,
      write: (change, heard, how) => own.write(change, (answer) => void looked(answer).then(heard), how),
      commit: async (change) => looked(await own.commit(change)),
    },
  }
}

for (const kind of ['memory', 'sqlite'] as const) {
  describe(`a file written by another caller while its call had no worker, on ${kind}`, () => {
    let fresh: FreshWorld
    const { start } = mortalWorld(kind, (world) => (fresh = world))

    test.for([
      ['is not deleted', { name: 'delete_file', input: { path: 'f' } }],
      ['is not replaced', { name: 'write_file', input: { path: 'f', content: 'ours' } }],
      ['is not replaced where there was none', { name: 'write_file', input: { path: 'new', content: 'ours' } }],
    ] as const)('BOX-2, DUR-3: %s', async ([, call]) => {
      const calm = await start([], fresh.store, { policy })
      const { files } = calm.session('s')
      await files.write('f', 'before')
      const { path } = call.input
      const before = (await files.stat(path))?.hash
      const dying = dyingOnce(fresh.store, async () => (await files.stat(path))?.hash !== before)
      const first = await start(toolbox.all(), dying.store, { policy })
      void first.session('s').run([{ id: 'c', ...call }])
      await dying.died
      await files.write(path, 'theirs')
      const second = await start(toolbox.all(), fresh.store, { policy })
      await fresh.clock.advance('31s')
      const [outcome] = await second.session('s').run([{ id: 'c', ...call }])
      expect((await files.read(path)).text).toBe('theirs')
      expect(outcome).toMatchObject({
        failure: { code: 'file_changed', message: expect.stringContaining('left as it is') },
      })
    })
  })
}
