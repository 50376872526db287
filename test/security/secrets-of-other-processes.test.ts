// A process that has read the secrets of a session redacts one that another process set a moment ago.

import { fail, type Session } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { rerunTool } from '../kit/simple-tools.ts'
import { disk, opened, printed } from '../kit/secret-leak-search.ts'

const secret = 'sk-live-4f9a71c2-zz'
const show = rerunTool('show', () => {
  throw fail(`token=${secret}`)
})

test.each([
  ['calls.get', (session) => session.calls.get('1')],
  ['calls.list', (session) => session.calls.list()],
  ['run of a recorded call', (session) => session.run([{ id: '1', name: 'show' }])],
] satisfies [string, (session: Session) => Promise<unknown>][])(
  'DUR-12: %s redacts a secret that another process has just set',
  async (_, shown) => {
    const { store } = disk()
    const worker = (await opened({ store, tools: [show] })).session('s')
    // Its clock stands still, so it does not poll for writes of other processes.
    const web = (await opened({ store, tools: [show], worker: false, clock: manualClock() })).session('s')
    await web.calls.list() // from now on this process knows the session
    await worker.secrets.set('key', secret)
    await worker.run([{ id: '1', name: 'show' }])
    const text = printed(await shown(web))
    expect(text).toContain('token=[redacted]')
    expect(text).not.toContain(secret)
  },
)
