// Store cases for round trips: recorded values, names, bytes and settings are returned unchanged by every store.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { decode, encode, type Json } from '../../core/tool-value.ts'
import { manualClock } from '../manual-clock.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** Values that databases are known to alter. */
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

/** JSON texts that would change if a store parsed and reserialized them. */
const texts = ['{"a": 1,  "a":2}', '[1.0,1e2,-0]', ' {"b":1,"a":2}\n', '12345678901234567890.123456789']

/** 3 kB of incompressible text: an index with a size limit must not depend on compression. */
const long = createHash('shake256', { outputLength: 2_250 }).update('any').digest('base64url')

/** Strings used as names. Stores keep them as plain text, not as JSON. */
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
    name: 'recorded values are returned exactly as written',
    promise: ['DUR-11', 'VAL-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const recorded = [...Object.values(values).map(encode), ...texts]
      for (const [index, text] of recorded.entries()) {
        const call = r.callRecord(`c${index}`, { input: text, args: text, owner: 'w' })
        const step = r.stepRecord(call.uid, 'a', { input: text, value: text })
        const wait = r.waitRecord(`w${index}`, call.uid)
        await r.insert(store, call)
        r.assertAccepted(await store.commit(r.change({ steps: [step], insertWaits: [wait] })))
        r.assertAccepted(await store.commit(r.answerWait(wait.id, text)))
        assert.deepEqual(await store.call(call.uid), call)
        r.assertAccepted(
          await store.commit(r.change({ updateCall: { uid: call.uid, progress: r.settledProgress(call, text) } })),
        )
        assert.equal((await store.callAt(call.position))?.outcome, text)
        assert.deepEqual((await store.steps(call.uid)).map(r.plain), [step])
        assert.equal((await store.wait(wait.id))?.resolution, text)
      }
      for (const [index, [what, value]] of Object.entries(values).entries()) {
        const back = decode((await store.call(`c${index}`))?.outcome as string)
        assert.deepEqual(back, value, what)
        // deepEqual ignores the order of keys.
        assert.equal(JSON.stringify(back), JSON.stringify(value), what)
      }
    },
  },
  {
    topic: 'payload',
    name: 'names with any characters and of 3 kB stay distinct and are returned unchanged',
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
        r.assertAccepted(
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
    name: 'null stays null, and empty stays empty',
    async run(open) {
      const { store } = await open(manualClock())
      const bare = r.callRecord('bare')
      const empty = r.callRecord('empty', {
        position: r.callPosition({ batch: '', id: '' }),
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
      r.assertAccepted(await store.commit(r.change({ steps })))
      assert.deepEqual(
        r.sortedBy(await store.steps('bare'), (step) => step.key),
        steps,
      )
    },
  },
  {
    topic: 'payload',
    name: 'attachments are returned byte for byte, with or without a name',
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
      r.assertAccepted(await store.commit(r.change({ attachments })))
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
    name: 'a recorded attachment does not change with the bytes in memory',
    promise: ['VAL-1', 'DUR-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const data = new Uint8Array([1, 2, 3])
      r.assertAccepted(
        await store.commit(r.change({ attachments: [r.attachmentRecord('a', { data, name: 'first' })] })),
      )
      data.fill(9)
      r.assertAccepted(
        await store.commit(r.change({ attachments: [r.attachmentRecord('a', { data, name: 'second' })] })),
      )
      const found = await store.attachment('t', 'a')
      assert.deepEqual([found?.name, ...(found?.data ?? [])], ['first', 1, 2, 3])
      found?.data.fill(7)
      assert.deepEqual([...((await store.attachment('t', 'a'))?.data ?? [])], [1, 2, 3])
    },
  },
  {
    topic: 'payload',
    name: 'the same attachment id in two tenants is two attachments',
    promise: ['VAL-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const [one, two] = ['one', 'two'].map((tenant) => r.attachmentRecord('id', { tenant, data: Buffer.from(tenant) }))
      r.assertAccepted(await store.commit(r.change({ attachments: [one as never, two as never] })))
      for (const tenant of ['one', 'two'])
        assert.equal(Buffer.from((await store.attachment(tenant, 'id'))?.data ?? []).toString(), tenant)
      assert.equal(await store.attachment('three', 'id'), undefined)
      assert.equal(await store.attachment('one', 'other'), undefined)
    },
  },
  {
    topic: 'payload',
    name: 'concurrent writers of a setting all get the first value',
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
    name: 'settings and the secret are the same on every handle',
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
    name: 'the secret has at least 32 bytes and never changes',
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
