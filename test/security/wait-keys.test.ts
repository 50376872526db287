import { randomBytes } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { simpleTool } from '../kit/simple-tools.ts'
import { fleetOn } from '../kit/worker-fleet.ts'

describe.each(['memory', 'sqlite'] as const)('wait keys on %s', (kind) => {
  let store: Store
  const fleet = fleetOn(kind, (has) => ({ store } = has))

  test('WAIT-3: a wrong key is rejected even if the store returns a wait for it', async () => {
    const keys: string[] = []
    const parks = simpleTool('parks', async (_, ctx) => {
      const later = await ctx.later<unknown>()
      keys.push(later.key)
      return later
    })
    // Simulates a defect or a case-insensitive index: the lookup finds the open wait for any hash.
    let id: string | undefined
    const lookups: string[] = []
    const generous: Store = {
      ...store,
      waitByKeyHash(hash) {
        lookups.push(hash)
        return store.wait(id as string)
      },
    }
    const runtime = await fleet.start([parks], { store: generous })
    const run = runtime.session('s').run([{ id: 'a', name: 'parks' }])
    await vi.waitUntil(() => keys.length === 1, { timeout: 30_000 })
    const [key = ''] = keys
    const [{ uid } = { uid: '' }] = await runtime.session('s').calls.list()
    await vi.waitUntil(async () => (id = (await store.waitsOf(uid))[0]?.id), { timeout: 30_000 })
    const swapped = key.replace(/[A-Za-z]$|[A-Za-z](?=[^A-Za-z]*$)/, (letter) =>
      letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
    )
    for (const wrong of [`pawl_${randomBytes(32).toString('base64url')}`, swapped]) {
      expect(wrong).not.toBe(key)
      expect(await runtime.resolve(wrong, { value: 'stolen' })).toEqual({ answer: 'unknown_or_revoked' })
    }
    expect(lookups).toHaveLength(2)
    expect(await runtime.resolve(key, { value: 'right' })).toEqual({ answer: 'accepted' })
    expect(await run).toMatchObject([{ status: 'success', value: 'right' }])
  })
})
