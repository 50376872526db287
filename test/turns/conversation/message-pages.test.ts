// session.messages.list(): pages from the beginning, from the end, and before a number, in the order of the conversation.

import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { opening, stores } from '../../kit/open-runtime.ts'

for (const [kind, fresh] of stores) {
  describe(`pages of messages on ${kind}`, () => {
    const open = opening(fresh)

    test('SESS-1: messages are listed from the beginning, the end, and before a number', async () => {
      const { runtime } = await open()
      const session = runtime.session('s')
      const model = scriptedModel(Array.from({ length: 6 }, (_, n) => `Answer ${n}`))
      for (let n = 0; n < 6; n++) await session.turn({ model, message: `Message ${n}` }).outcome
      type Page = Parameters<typeof session.messages.list>[0]
      const numbers = async (page?: Page): Promise<number[]> => (await session.messages.list(page)).map((m) => m.number)
      const all = await numbers()
      expect(all).toEqual(all.toSorted((a, b) => a - b))
      expect(all).toHaveLength(12)
      expect(await numbers({ newest: true, limit: 5 })).toEqual(all.slice(-5))
      expect(await numbers({ before: all[7] as number, limit: 5 })).toEqual(all.slice(2, 7))
      expect(await numbers({ newest: true, before: all[2] as number })).toEqual(all.slice(0, 2))
      expect(await numbers({ newest: false, after: all[9] as number })).toEqual(all.slice(10))
      expect(await numbers({ before: all[0] as number })).toEqual([])
      expect(await runtime.session('other').messages.list({ newest: true })).toEqual([])
      await expect(session.messages.list({ newest: true, after: 3 })).rejects.toMatchObject({ code: 'turn_invalid' })
      await expect(session.messages.list({ before: 0 })).rejects.toMatchObject({ code: 'turn_invalid' })
    })
  })
}
