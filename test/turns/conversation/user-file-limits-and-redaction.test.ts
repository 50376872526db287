// Files in user messages: above the size limit of the runtime, and with secrets in their names.

import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { png } from '../../kit/shop-tools.ts'
import { after } from '../../kit/stores/fresh-store.ts'
import { opening, stores } from '../../kit/open-runtime.ts'

const open = opening()
const says = (name = 'm'): ReturnType<typeof scriptedModel> => scriptedModel([{ when: /^/, say: 'I see.' }], { name })
const picture = { data: png, mediaType: 'image/png', name: 'shot.png' }

describe.each(stores)('user files on %s', (_, fresh) => {
  test('SESS-4 VAL-8: a file above the attachment limit is rejected by send()', async () => {
    const { runtime, clock } = await open({ models: [says()], sizes: { attachment: 100 } }, fresh)
    const session = runtime.session('s')
    const large = { text: 'Look', attachments: [{ data: 'x'.repeat(200), mediaType: 'text/plain' }] }
    const refused = await session.messages.send(large).then(
      () => 'taken',
      (error: { code: string }) => error.code,
    )
    // The session stays usable afterwards.
    await after(session.turn({ model: 'm', message: 'Hi' }).outcome, clock)
    expect(await after(session.turn({ model: 'm', message: 'Hi' }).outcome, clock)).toMatchObject({
      value: { status: 'success' },
    })
    expect(refused).toBe('turn_invalid')
  })

  test('SESS-1 VAL-8: a file above the attachment limit is rejected by turn()', async () => {
    const { runtime, clock } = await open({ models: [says()], sizes: { attachment: 100 } }, fresh)
    const message = { text: 'Look', attachments: [{ data: 'x'.repeat(200), mediaType: 'text/plain' }] }
    let code = 'none'
    try {
      const outcome = await after(runtime.session('s').turn({ model: 'm', message }).outcome, clock)
      expect(outcome).not.toMatchObject({ value: { failure: { class: 'internal' } } })
    } catch (error) {
      code = (error as { code?: string }).code ?? 'other'
      if (code === 'other') throw error
    }
    expect(code).toBe('turn_invalid')
  })

  test('DUR-12 SESS-4: a secret in a file name is redacted for models and in listings', async () => {
    const secret = 'sk-very-secret-4711'
    const model = says()
    const { runtime, clock } = await open({ models: [model], secrets: [secret] }, fresh)
    const session = runtime.session('s')
    await session.messages.send({ text: 'One', attachments: [{ ...picture, name: `${secret}.png` }] })
    await after(
      session.turn({
        model: 'm',
        message: { text: secret, attachments: [{ data: 'a', mediaType: 'text/csv', name: `${secret}.csv` }] },
      }).outcome,
      clock,
    )
    expect(JSON.stringify(await session.messages.list())).not.toContain(secret)
    expect(JSON.stringify(model.requests)).not.toContain(secret)
  })
})
