// Files in user messages: recorded with the turn that reads them, passed to its model, and readable by clients.

import { createRuntime, type ModelCall } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { png } from '../../kit/shop-tools.ts'
import { closedAfterEach, stores } from '../../kit/open-runtime.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const runtimes = closedAfterEach()

/** A model that collects the texts and files it is given. */
function looking(): { model: ReturnType<typeof scriptedModel>; seen: string[] } {
  const seen: string[] = []
  const script = scriptedModel([{ when: /^/, say: 'I see.' }], { name: 'm' })
  const generate = async (call: ModelCall): ReturnType<typeof script.generate> => {
    for (const message of call.request.messages)
      for (const part of message.role === 'user' ? message.parts : [])
        seen.push(part.type === 'text' ? part.text : Buffer.from(await call.read(part.attachment)).toString('latin1'))
    return script.generate(call)
  }
  return { model: { ...script, generate }, seen }
}

const bytes = Buffer.from(png).toString('latin1')
const picture = { data: png, mediaType: 'image/png', name: 'shot.png' }

describe.each(stores)('user files on %s', (_, fresh) => {
  test.each([false, true])(
    'SESS-1 VAL-5: files of a turn survive takeover by another worker; sealed: %s',
    async (sealed) => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const { model, seen } = looking()
      const terms = {
        store: shared,
        clock,
        logger: quiet,
        models: [model],
        keys: { secret: Buffer.alloc(32, 7) },
        ...(sealed ? { encrypt: true } : {}),
      }
      const door = await createRuntime({ ...terms, worker: false })
      runtimes.push(door)
      const given = {
        model: 'm',
        id: 't',
        message: { text: 'What is this?', attachments: [picture, { data: 'a,b', mediaType: 'text/csv' }] },
      }
      const turn = door.session('s').turn(given)
      await clock.advance(1_000)
      runtimes.push(await createRuntime(terms))
      expect(await after(turn.outcome, clock)).toMatchObject({
        value: { status: 'success', value: { text: 'I see.' } },
      })
      expect(seen).toEqual(['What is this?', bytes, 'a,b'])
      const [first] = await door.session('s').messages.list()
      expect(first?.message).toMatchObject({
        role: 'user',
        parts: [
          { type: 'text', text: 'What is this?' },
          { type: 'attachment', attachment: { ref: { mediaType: 'image/png', name: 'shot.png', bytes: png.length } } },
          { type: 'attachment', attachment: { ref: { mediaType: 'text/csv' } } },
        ],
      })
      const [, part] = first?.message.role === 'user' ? first.message.parts : []
      if (part?.type !== 'attachment') throw new Error('There is no attachment')
      expect(Uint8Array.from(await door.session('s').attachments.read(part.attachment))).toEqual(png)
      // The same content is the same turn; another picture is a conflict.
      expect(await after(door.session('s').turn(given).outcome, clock)).toMatchObject({ value: { status: 'success' } })
      const other = door
        .session('s')
        .turn({ ...given, message: { ...given.message, attachments: [{ ...picture, data: 'x' }] } })
      expect(await after(other.outcome, clock)).toMatchObject({ error: { code: 'turn_conflict' } })
    },
  )

  test('SESS-4: a file sent between turns without text is read once, even after a crash', async () => {
    const { clock, store } = fresh()
    const shared = keepOpen(store)
    const dying = mortal(shared)
    let hangs = true
    const { model, seen } = looking()
    const waits = {
      ...model,
      generate: (call: ModelCall) => (hangs ? new Promise<never>(() => {}) : model.generate(call)),
    }
    const first = await createRuntime({ store: dying.store, clock, logger: quiet, models: [waits] })
    await first.session('s').messages.send({ attachments: [picture] })
    expect(await first.session('s').messages.waiting()).toMatchObject([{ text: '', files: 1 }])
    ignoreOutcome(first.session('s').turn({ model: 'm', id: 't' }))
    await clock.advance(1_000)
    dying.die()
    hangs = false
    const worker = await createRuntime({ store: shared, clock, logger: quiet, models: [model] })
    runtimes.push(worker)
    await clock.advance('60s')
    expect(await after(worker.session('s').turn({ model: 'm', id: 't' }).outcome, clock)).toMatchObject({
      value: { status: 'success', value: { text: 'I see.' } },
    })
    expect(seen).toEqual([bytes])
    expect((await worker.session('s').messages.list()).map(({ message }) => message.role)).toEqual([
      'user',
      'assistant',
    ])
    // Erasing the session deletes the file.
    const [said] = await worker.session('s').messages.list()
    const [part] = said?.message.role === 'user' ? said.message.parts : []
    await worker.erase({ tenant: 'default', session: 's' })
    if (part?.type !== 'attachment') throw new Error('There is no attachment')
    await expect(worker.session('s').attachments.read(part.attachment)).rejects.toMatchObject({
      code: 'attachment_unknown',
    })
  })
})

test('SESS-4 VAL-8: a file above the limit of the reading worker is described by name only', async () => {
  const { clock, store } = freshMemory()
  const { model, seen } = looking()
  const terms = { store: { ...store, close: async () => {} }, clock, logger: quiet, models: [model] }
  const door = await createRuntime({ ...terms, worker: false })
  runtimes.push(door)
  await door.session('s').messages.send({
    text: 'Look',
    attachments: [{ data: 'x'.repeat(200), mediaType: 'text/plain', name: 'long.txt' }],
  })
  const worker = await createRuntime({ ...terms, sizes: { attachment: 100 } })
  runtimes.push(worker)
  expect(await after(worker.session('s').turn({ model }).outcome, clock)).toMatchObject({
    value: { status: 'success' },
  })
  expect(seen).toEqual(['Look\n[file "long.txt": text/plain, 200 bytes, which could not be kept here]'])
})

test('SESS-1: an invalid message is rejected and nothing is recorded', async () => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, logger: quiet })
  runtimes.push(runtime)
  const session = runtime.session('s')
  const { model } = looking()
  const huge = { data: 'x'.repeat(21 * 1024 * 1024), mediaType: 'text/plain' }
  for (const message of [
    {},
    { text: ' ' },
    { text: 1 },
    { text: 'x', files: [] },
    { text: 'x', attachments: 'y' },
    { attachments: [{ mediaType: 'image/png' }] },
    { attachments: [{ data: png }] },
    { attachments: [{ data: png, mediaType: 'image/png', name: '' }] },
    { attachments: [null] },
    { attachments: [huge] },
  ]) {
    expect(() => session.turn({ model, message: message as never })).toThrow(
      expect.objectContaining({ code: 'turn_invalid' }),
    )
    await expect(session.messages.send(message as never)).rejects.toMatchObject({ code: 'turn_invalid' })
  }
  expect(await store.unsettled({ after: '', limit: 5 })).toEqual([])
  expect(await session.messages.waiting()).toEqual([])
})
