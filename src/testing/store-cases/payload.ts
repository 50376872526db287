// TESTING: what is kept as given. Recorded values, names, bytes and settings come back the same on every store.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { decode, encode, type Json } from '../../core/value.ts'
import { manualClock } from '../manual-clock.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** Values that stores are known to bend. */
const values: Readonly<Record<string, Json>> = {
  'a nul': 'before \u0000 after',
  'a nul in a key': { '\u0000': '\u0000' },
  'emoji and other planes': '\u{1F600} \u{1F468}\u200D\u{1F469}\u200D\u{1F467} \u{10FFFF}',
  'control and line separators': '\u0001\u001f\u007f\u0085\u2028\u2029\ufeff',
  'forms of one letter': ['\u00e9', 'e\u0301'],
  'quotes and backslashes': `'"\\ \\u0000 \\x00 $1 ?1 :a %s {}`,
  'the order of keys': { b: 1, a: 2, B: 3, '': 4, aa: 5 },
  numbers: [0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740991, 0.1],
  'empty things': ['', [], {}, null, false],
  'a megabyte': '\u00e9x'.repeat(350_000),
}

/** JSON text that a store which parses it would not give back as it was. */
const texts = ['{"a": 1,  "a":2}', '[1.0,1e2,-0]', ' {"b":1,"a":2}\n', '12345678901234567890.123456789']

/** 3 kB that do not compress: an index that only takes them when they do would be a trap. */
const long = createHash('shake256', { outputLength: 2_250 }).update('any').digest('base64url')

/** Strings that name things. They are stored plain, not as JSON. */
const names = [
  'nul \u0000 inside',
  '\u0000',
  '\\0',
  '\\u0000',
  'emoji \u{1F600}',
  `quote ' " \\ ;--`,
  ' spaces ',
  'line\nbreak',
  long,
  `${long}y`,
]

export const payloadCases: readonly StoreCase[] = [
  {
    topic: 'payload',
    name: 'recorded values come back to the letter, wherever they are kept',
    promise: ['DUR-11', 'VAL-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const recorded = [...Object.values(values).map(encode), ...texts]
      for (const [index, text] of recorded.entries()) {
        const call = r.callRecord(`c${index}`, { input: text, args: text, owner: 'w' })
        const step = r.stepRecord(call.uid, 'a', { input: text, value: text })
        const wait = r.waitRecord(`w${index}`, call.uid)
        await r.insert(store, call)
        r.accepted(await store.commit(r.change({ steps: [step], insertWaits: [wait] })))
        r.accepted(await store.commit(r.answering(wait.id, text)))
        assert.deepEqual(await store.call(call.uid), call)
        r.accepted(await store.commit(r.change({ updateCall: { uid: call.uid, progress: r.settled(call, text) } })))
        assert.equal((await store.callAt(call.position))?.outcome, text)
        assert.deepEqual((await store.steps(call.uid)).map(r.plain), [step])
        assert.equal((await store.wait(wait.id))?.resolution, text)
      }
      for (const [index, [what, value]] of Object.entries(values).entries()) {
        const back = decode((await store.call(`c${index}`))?.outcome as string)
        assert.deepEqual(back, value, what)
        // deepEqual does not look at the order of keys.
        assert.equal(JSON.stringify(back), JSON.stringify(value), what)
      }
    },
  },
  {
    topic: 'payload',
    name: 'names of any characters and of 3 kB tell things apart and come back as given',
    promise: ['DUR-11', 'CALL-6'],
    async run(open) {
      const { store } = await open(manualClock())
      const calls = names.map((name, index) =>
        r.callRecord(`uid ${index}`, {
          position: { tenant: name, session: name, batch: name, id: name, occurrence: 0 },
          principal: name,
          tool: name,
        }),
      )
      await r.insert(store, ...calls)
      for (const [index, call] of calls.entries()) {
        const name = names[index] as string
        const wait = r.waitRecord(`w${index}`, call.uid, { name })
        const attachment = r.attachmentRecord('same id', { tenant: name, name, mediaType: 'text/plain; a="\\"' })
        const events = [r.eventRecord(index, { tenant: name, session: name, call: call.uid })]
        r.accepted(
          await store.commit(
            r.change({
              steps: names.map((key) => r.stepRecord(call.uid, key)),
              insertWaits: [wait],
              attachments: [attachment],
              events,
            }),
          ),
        )
        assert.deepEqual(await store.callAt(call.position), call)
        assert.deepEqual((await store.steps(call.uid)).map((step) => step.key).toSorted(), names.toSorted())
        assert.deepEqual((await store.waitsOf(call.uid)).map(r.plain), [wait])
        const found = await store.attachment(name, 'same id')
        assert.deepEqual([found?.name, found?.mediaType], [name, attachment.mediaType])
        const own = await store.events({ after: 0, limit: 10, of: { tenant: name, session: name } })
        assert.deepEqual(
          own.map((event) => [event.tenant, event.session, event.seq]),
          [[name, name, 1]],
        )
      }
      const claimed = await store.claim('w', names, 100)
      assert.deepEqual(claimed.map((call) => call.tool).toSorted(), names.toSorted())
    },
  },
  {
    topic: 'payload',
    name: 'what was not given stays null, and what was empty stays empty',
    async run(open) {
      const { store } = await open(manualClock())
      const bare = r.callRecord('bare')
      const empty = r.callRecord('empty', {
        position: r.place({ batch: '', id: '' }),
        principal: '',
        args: '',
        outcome: '',
        startedAt: 0,
        settledAt: 0,
        deaths: 0,
        trouble: null,
        wait: '',
        owner: '',
      })
      await r.insert(store, bare, empty)
      assert.deepEqual(await store.call('bare'), bare)
      assert.deepEqual(await store.call('empty'), empty)
      const steps = [
        r.stepRecord('bare', 'a', { input: null, value: null }),
        r.stepRecord('bare', 'b', { input: '', value: '' }),
      ]
      r.accepted(await store.commit(r.change({ steps })))
      assert.deepEqual(
        r.byKey(await store.steps('bare'), (step) => step.key),
        steps,
      )
    },
  },
  {
    topic: 'payload',
    name: 'attachments come back byte for byte, with or without a name',
    promise: ['VAL-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const bytes = {
        none: new Uint8Array(0),
        each: Uint8Array.from({ length: 256 }, (_, index) => index),
        many: new Uint8Array(1_000_000).fill(0xe9),
      }
      const attachments = Object.entries(bytes).map(([id, data], index) =>
        r.attachmentRecord(id, { data, name: index ? `${id}.bin` : null }),
      )
      r.accepted(await store.commit(r.change({ attachments })))
      for (const given of attachments) {
        const found = await store.attachment('t', given.id)
        assert.ok(found?.data instanceof Uint8Array)
        assert.deepEqual({ ...found, data: null }, { ...given, data: null })
        assert.equal(Buffer.compare(found.data, given.data), 0, given.id)
      }
    },
  },
  {
    topic: 'payload',
    name: 'an attachment on record stays as it was first written, whatever becomes of the bytes in memory',
    promise: ['VAL-1', 'DUR-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const data = new Uint8Array([1, 2, 3])
      r.accepted(await store.commit(r.change({ attachments: [r.attachmentRecord('a', { data, name: 'first' })] })))
      data.fill(9)
      r.accepted(await store.commit(r.change({ attachments: [r.attachmentRecord('a', { data, name: 'second' })] })))
      const found = await store.attachment('t', 'a')
      assert.deepEqual([found?.name, ...(found?.data ?? [])], ['first', 1, 2, 3])
      found?.data.fill(7)
      assert.deepEqual([...((await store.attachment('t', 'a'))?.data ?? [])], [1, 2, 3])
    },
  },
  {
    topic: 'payload',
    name: 'attachments are per tenant: one id in two tenants is two attachments',
    promise: ['VAL-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const [one, two] = ['one', 'two'].map((tenant) => r.attachmentRecord('id', { tenant, data: Buffer.from(tenant) }))
      r.accepted(await store.commit(r.change({ attachments: [one as never, two as never] })))
      for (const tenant of ['one', 'two'])
        assert.equal(Buffer.from((await store.attachment(tenant, 'id'))?.data ?? []).toString(), tenant)
      assert.equal(await store.attachment('three', 'id'), undefined)
      assert.equal(await store.attachment('one', 'other'), undefined)
    },
  },
  {
    topic: 'payload',
    name: 'a setting is what the first writer said, for everyone',
    promise: ['WAIT-3'],
    async run(open) {
      const { store } = await open(manualClock())
      assert.equal(await store.settingNow('key'), undefined)
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => store.setting('key', `value ${index}`)),
      )
      assert.equal(await store.settingNow('key'), answers[0])
      assert.equal(new Set(answers).size, 1)
      assert.equal(await store.setting('key', 'late'), answers[0])
      assert.equal(await store.setting('other', 'own'), 'own')
    },
  },
  {
    topic: 'payload',
    name: 'a setting and the secret are the same on every handle',
    promise: ['WAIT-3'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => (index % 2 ? store : other).setting('key', `value ${index}`)),
      )
      assert.equal(new Set(answers).size, 1)
      const [mine, theirs] = [await store.secret(), await other.secret()]
      assert.deepEqual(theirs && [...theirs], mine && [...mine])
      await store.close()
      await other.close()
      const next = await again()
      assert.equal(await next.setting('key', 'late'), answers[0])
      const later = await next.secret()
      assert.deepEqual(later && [...later], mine && [...mine])
    },
  },
  {
    topic: 'payload',
    name: 'the secret, where a store keeps one, is long enough and always the same',
    promise: ['WAIT-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const secret = await store.secret()
      if (secret === undefined) return
      assert.ok(secret.length >= 32)
      assert.deepEqual([...((await store.secret()) ?? [])], [...secret])
    },
  },
]
