import { fc } from '../../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { narrate } from '../../../src/tools/narration/narration-templates.ts'
import { headline, renderNarration } from '../../../src/tools/narration/render-narration.ts'
import { isSecretName, withoutSecrets } from '../../../src/tools/narration/secret-fields.ts'

const en = { phase: 'started', locale: 'en' } as const
const look = { name: 'look_up_order', title: 'Look up an order' }

describe('SESS-9: narration of a call', () => {
  test('the default uses the title or the name', () => {
    expect(renderNarration(look, {}, en)).toBe('Running: Look up an order')
    expect(renderNarration({ name: 'look_up_order' }, {}, en)).toBe('Running: Look up order')
    expect(renderNarration({ name: 'lookUpOrder' }, {}, { ...en, phase: 'waiting' })).toBe('Waiting: Look Up Order')
    expect(renderNarration({ name: '__' }, {}, en)).toBe('Running: __')
    expect(renderNarration(look, { order: 'A1' }, { ...en, phase: 'completed' })).toBe('Done: Look up an order (A1)')
    expect(renderNarration(look, { customer_id: 42 }, { ...en, phase: 'failed' })).toBe('Failed: Look up an order (42)')
    expect(renderNarration({ name: 'read', title: 'Read\u202E a\nfile' }, { path: '/a/b/c.md' }, en)).toBe(
      'Running: Read a file (c.md)',
    )
  })

  test('the locale selects German including its regions, and English otherwise', () => {
    for (const locale of ['de', 'de-AT', 'DE_ch'])
      expect(renderNarration(look, {}, { ...en, locale })).toBe('Läuft: Look up an order')
    for (const locale of ['xx', '', 'constructor', '__proto__'])
      expect(renderNarration(look, {}, { ...en, locale })).toBe('Running: Look up an order')
    expect(renderNarration(look, {}, { phase: 'completed', locale: 'de' })).toBe('Fertig: Look up an order')
  })

  test('custom narrations apply to each phase, and invalid ones are replaced by the default', () => {
    const own = narrate<{ path: string }>(
      { en: { started: 'Reading {}', completed: 'Read {}', failed: 'Could not read {}' } },
      ({ path }) => path,
    )
    const read = { name: 'read', title: 'Read', narrate: own }
    expect(renderNarration(read, { path: 'a.md' }, en)).toBe('Reading a.md')
    expect(renderNarration(read, { path: 'a.md' }, { ...en, phase: 'waiting' })).toBe('Reading a.md…')
    expect(renderNarration(read, { path: 'a.md' }, { ...en, phase: 'failed', locale: 'fr' })).toBe(
      'Could not read a.md',
    )
    // The outcome is unknown, so "Failed" would be wrong.
    expect(renderNarration(read, { path: 'a.md' }, { ...en, phase: 'unknown' })).toBe('Outcome unknown: Read (a.md)')
    expect(renderNarration(read, { path: 'a.md' }, { phase: 'cancelled', locale: 'de' })).toBe(
      'Abgebrochen: Read (a.md)',
    )
    // Arguments that the tool rejected are not used in its narration.
    expect(renderNarration(read, undefined, en)).toBe('Running: Read')
    const throws = (): never => {
      throw new Error('x')
    }
    const bad: unknown[] = [
      '',
      ' \n\u200B ',
      'x'.repeat(201),
      7,
      {},
      Promise.reject(new Error('late')),
      undefined,
      null,
    ]
    for (const each of [throws, ...bad.map((given) => () => given)])
      expect(renderNarration({ ...look, narrate: each as never }, { order: 'A1' }, en)).toBe(
        'Running: Look up an order (A1)',
      )
    expect(renderNarration({ ...look, narrate: () => 'a\u001B[31m\u202E b' }, {}, en)).toBe('a [31m b')
  })

  test('a completed call passes its value to the narration', () => {
    const counts = {
      name: 'count',
      narrate: ((_: unknown, { value }: { value?: { n: number } }) => `${value?.n} rows`) as never,
    }
    expect(renderNarration(counts, {}, { ...en, phase: 'completed', value: { n: 3 } })).toBe('3 rows')
  })

  test('secret-looking fields are hidden in default and custom narrations', () => {
    const secret =
      'password PASSWORD dbPassword passwd pwd token access_token accessToken apitoken secret clientSecret key apiKey api_key'
        .split(' ')
        .concat(
          'authorization Authorization cookie set-cookie card cardNumber card_number cvv pin otp credentials private_key session_id'.split(
            ' ',
          ),
        )
    for (const name of secret) {
      expect(isSecretName(name), name).toBe(true)
      expect(renderNarration(look, { [name]: 'hunter2', [`${name}_id`]: 'hunter2' }, en), name).toBe(
        'Running: Look up an order',
      )
    }
    for (const name of ['path', 'monkey', 'discard', 'spin', 'author', 'compass', 'passenger', 'order', 'keyboard'])
      expect(isSecretName(name), name).toBe(false)
    const shows = { ...look, narrate: ((input: unknown) => JSON.stringify(input)) as never }
    expect(
      renderNarration(
        shows,
        { user: 'ada', password: 'hunter2', deep: [{ apiKey: 'hunter2', pin: 1234 }], key: 'theme' },
        en,
      ),
    ).toBe('{"user":"ada","password":"…","deep":[{"apiKey":"…","pin":"…"}],"key":"theme"}')
    expect(renderNarration(shows, {}, { ...en, phase: 'completed', value: { token: 'hunter2' } })).not.toContain(
      'hunter2',
    )
    expect(renderNarration(look, { query: 'password=hunter2' }, en)).toBe('Running: Look up an order')
    expect(renderNarration(look, { url: 'https://ada:hunter2@example.com/a/b?token=hunter2#hunter2' }, en)).toBe(
      'Running: Look up an order (example.com/a/b)',
    )
    expect(renderNarration(look, { url: 'x://' }, en)).toBe('Running: Look up an order')
  })

  test('a sensitive tool shows only its title', () => {
    const own = { ...look, sensitive: true, narrate: (() => 'own words') as never }
    expect(renderNarration(own, { order: 'A1' }, en)).toBe('Running: Look up an order')
  })

  test('known secrets are redacted before the text is cut', () => {
    const secret = 'S'.repeat(300)
    const clean = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll(secret, '[redacted]')) as T
    const own = narrate<{ path: string }>(
      { en: { started: 'Reading {}', completed: 'x', failed: 'x' } },
      ({ path }) => path,
    )
    expect(renderNarration({ ...look, narrate: own }, { path: secret }, { ...en, clean })).toBe('Reading [redacted]')
    expect(renderNarration(look, { path: secret }, { ...en, clean })).toBe('Running: Look up an order ([redacted])')
  })

  test('property: a narration is one bounded line without values of secret fields', () => {
    fc.assert(
      fc.property(
        fc.object({ maxDepth: 3 }),
        fc.string(),
        fc.constantFrom('password', 'apiToken', 'card_number'),
        (input, title, field) => {
          const line = renderNarration({ name: 't', title }, { ...input, [field]: 'zq-hidden-zq' }, en)
          expect(line).not.toContain('zq-hidden-zq')
          expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
          expect(line.length).toBeLessThan(200)
          expect(line.isWellFormed()).toBe(true)
          expect(JSON.stringify(withoutSecrets({ a: [{ ...input, [field]: 'zq-hidden-zq' }] }))).not.toContain(
            'zq-hidden-zq',
          )
        },
      ),
    )
  })
})

describe('SESS-9: the headline of several calls', () => {
  test('a single call shows its narration, repeats are counted, and the first two are named', () => {
    expect(headline([], 'en')).toBe('')
    expect(headline(['Read a.md'], 'en')).toBe('Read a.md')
    expect(headline(['Read a.md', 'Read a.md'], 'en')).toBe('Read a.md, twice')
    expect(headline(['Read a.md', 'Read a.md', 'Read a.md'], 'en-GB')).toBe('Read a.md, 3 times')
    expect(headline(['A', 'B', 'A'], 'en')).toBe('A, twice; B')
    expect(headline(['A', 'B', 'C', 'A', 'C'], 'en')).toBe('A, twice; B and 2 more')
    expect(headline(['A', 'A', 'A', 'B', 'B', 'C'], 'de-AT')).toBe('A, 3-mal; B, zweimal und 1 weitere')
  })

  test('property: every call is named or counted in any order', () => {
    const texts = fc.array(fc.constantFrom('A', 'B', 'C', 'D', 'E'), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(texts, (calls) => {
        const line = headline(calls, 'en')
        const more = Number(/ and (\d+) more$/.exec(line)?.[1] ?? 0)
        const named = line
          .replace(/ and \d+ more$/, '')
          .split('; ')
          .map((part) => /^([A-E])(?:, (twice|(\d+) times))?$/.exec(part))
        const count = (part: RegExpExecArray | null): number => (part?.[2] === 'twice' ? 2 : Number(part?.[3] ?? 1))
        expect(named.length).toBe(Math.min(2, new Set(calls).size))
        for (const part of named) expect(count(part)).toBe(calls.filter((each) => each === part?.[1]).length)
        expect(named.reduce((sum, part) => sum + count(part), more)).toBe(calls.length)
        const [first] = calls
        expect(headline([first as string, ...calls.slice(1).toSorted()], 'en').startsWith(first as string)).toBe(true)
      }),
    )
  })
})
