// A process awaits a call of another worker; the call is settled and erased before the first process reads it.
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { expect, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { after, freshDir, quiet } from '../kit/stores/fresh-store.ts'
import { rerunTool } from '../kit/simple-tools.ts'

test.each([false, true])(
  'CALL-2 FEED-1: awaiting a call that is settled and erased elsewhere ends (later write: %s)',
  async (more) => {
    const file = join(freshDir(), 'a.db')
    const [here, there] = [manualClock(), manualClock()]
    const open = (clock: typeof here) => sqliteStore({ file, clock, commit: 'process' })
    let release = (): void => {}
    const t = rerunTool(
      't',
      { timeout: '1h' },
      () => new Promise<string>((resolve) => (release = () => resolve('done'))),
    )
    const quick = tool({ name: 'quick', description: 'd', input: { type: 'object' }, execute: () => 1 })
    const front = await createRuntime({ store: open(here), clock: here, tools: [t], logger: quiet, worker: false })
    const worker = await createRuntime({ store: open(there), clock: there, tools: [t, quick], logger: quiet })
    const run = front.session('s').run([{ id: '1', name: 't' }])
    for (let i = 0; i < 5; i++) {
      await here.advance(100)
      await there.advance(100)
    }
    await here.advance(200) // this process has seen that the call runs
    release()
    await there.advance(10)
    expect(await worker.session('s').calls.list()).toMatchObject([{ state: 'settled' }])
    await worker.erase({ session: 's' })
    if (more)
      expect(await after(worker.session('other').run([{ id: '1', name: 'quick' }]), there, 1000, 100)).toMatchObject({
        value: [{ value: 1 }],
      })
    expect(await after(run, here)).not.toBe('hangs')
  },
)
