import { randomBytes } from 'node:crypto'
import { tool } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { fleetOn } from '../kit/worker-fleet.ts'

describe.each(['memory', 'sqlite'] as const)('on %s', (kind) => {
  let store: Store
  const fleet = fleetOn(kind, (has) => ({ store } = has))

  test('WAIT-3: a store that answers too generously gives nothing to a wrong key', async () => {
    const keys: string[] = []
    const parks = tool({
      name: 'parks',
      description: 'Parks',
      input: { type: 'object' },
      async execute(_, ctx) {
        const later = await ctx.later<unknown>()
        keys.push(later.key)
        return later
      },
    })
    // An index that ignores case, or a store with a defect: it finds the one open wait whatever hash it looks for.
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
