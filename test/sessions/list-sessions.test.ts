// runtime.sessions.list(): the sessions that have calls, in pages, on every store.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { announceSession } from '../../src/store/journal-keys.ts'
import { callPosition, callRecord, insert } from '../../src/testing/store-cases/record-builders.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { onEveryStore } from '../kit/stores/all-stores.ts'

const echo = rerunTool('echo', () => 'said')

onEveryStore('runtime.sessions', (ground) => {
  const tenant = `acme ${randomUUID()}`

  test('DUR-10: sessions with calls are listed page by page, with their last call', async () => {
    const { runtime } = await ground.worker({ tools: [echo], encrypt: true })
    const ids = ['a', 'b', 'c', 'd', 'e']
    for (const id of ids.toReversed()) {
      await runtime.session(id, { tenant }).run([{ id: 'x', name: 'echo' }])
      await ground.clock.advance(1_000)
    }
    await runtime.session('without calls', { tenant }).values.set('a', 1)
    await runtime.session('b', { tenant }).run([{ id: 'y', name: 'echo' }])
    const all = await runtime.sessions.list({ tenant })
    expect(all.map(({ session }) => session).toSorted()).toEqual(ids)
    for (const { session: id, lastCallAt, ...of } of all) {
      const calls = await runtime.session(id, { tenant }).calls.list()
      expect({ lastCallAt, ...of }).toEqual({ tenant, lastCallAt: calls.at(-1)?.createdAt })
    }
    const first = await runtime.sessions.list({ tenant, limit: 2 })
    const rest = await runtime.sessions.list({ tenant, limit: 3, after: first.at(-1) })
    expect([...first, ...rest]).toEqual(all)
    expect((await runtime.sessions.list()).filter((each) => each.tenant === tenant)).toEqual(all)
    await expect(runtime.sessions.list({ tenant, after: { tenant: 'other', session: 'a' } })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })

  test('DUR-10: internal sessions are left out and do not shorten a page', async () => {
    const { runtime } = await ground.worker({ tools: [echo] })
    const own = `${tenant} internal`
    const sessions = ['', 'a', 'agent:1', ...[1, 2, 3, 4].map((n) => announceSession(`w${n}`)), 'pawl:x', 'z']
    await insert(
      ground.store,
      ...sessions.map((session) => {
        const uid = randomUUID()
        return callRecord(uid, { position: callPosition({ id: uid, tenant: own, session }), state: 'settled' })
      }),
    )
    const shown = ['a', 'agent:1', 'pawl:x', 'z']
    for (const limit of [1, 2, 3, 4, 100]) {
      const found: string[] = []
      for (let after: { tenant: string; session: string } | undefined; ;) {
        const page = await runtime.sessions.list({ tenant: own, limit, after })
        found.push(...page.map(({ session }) => session))
        if (page.length < limit) break
        after = page.at(-1)
      }
      expect(found.toSorted()).toEqual(shown)
    }
  })
})
