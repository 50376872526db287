import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { Redactor } from '../../../src/security/redact.ts'
import { openKnownSecrets } from '../../../src/storage/values/known-secrets.ts'
import { openSecrets } from '../../../src/storage/values/secrets.ts'
import { freshMemory } from '../../kit/stores/fresh-store.ts'

const sessionOf = (session: string) => ({ tenant: 'default', session })
/** With 33 of these the process knows more characters than idle sessions may have. */
const longSecret = (number: number): string => `secret-${number}-`.padEnd(16_000, `${number}x`)

function setup() {
  const { store: memory } = freshMemory()
  let hint: Parameters<typeof memory.onHint>[0] = () => {}
  const store = { ...memory, onHint: (listener: typeof hint) => ((hint = listener), memory.onHint(() => {})) }
  const clock = manualClock()
  const redact = new Redactor([])
  const running: string[] = []
  const engine = {
    running: () => running.map((session) => ({ ...sessionOf(session), batch: '', id: '', occurrence: 0 })),
  }
  const knownSecrets = openKnownSecrets({ store, clock, redact, engine })
  const set = (session: string, name: string, text: string) =>
    openSecrets({ store, clock, knownSecrets }, sessionOf(session)).set(name, text)
  /** Each in a session of its own. */
  const learnLong = (from: number, count: number): void => {
    for (let n = from; n < from + count; n++) knownSecrets.learn(sessionOf(`s${n}`), longSecret(n))
  }
  const anotherProcessWrites = (): void => hint({ outside: true } as Parameters<typeof hint>[0])
  return { clock, redact, running, knownSecrets, set, learnLong, anotherProcessWrites, store }
}

test('DUR-12: secrets of sessions used within a minute are kept, whatever their number is', async () => {
  const { clock, redact, learnLong } = setup()
  learnLong(0, 40)
  await clock.advance('59s')
  learnLong(40, 1)
  expect(redact.learned).toBe(41)
})

test('DUR-12: with too many secrets, idle sessions are forgotten and running ones are not', async () => {
  const { clock, redact, running, learnLong } = setup()
  learnLong(0, 40)
  await clock.advance('2m')
  running.push('s0')
  learnLong(40, 1)
  expect(redact.learned).toBeLessThan(33)
  const text = `${longSecret(0)} ${longSecret(40)}`
  expect(redact.text(text)).toBe('[redacted] [redacted]')
  running.pop()
  await clock.advance('2m')
  learnLong(41, 40)
  expect(redact.learned).toBe(40)
})

test('DUR-12: the secrets of a forgotten session are read again when it is used', async () => {
  const { clock, redact, knownSecrets, set, learnLong } = setup()
  await set('s', 'key', 'a-secret-of-the-session')
  await knownSecrets.ensure(sessionOf('s'))
  await clock.advance('2m')
  learnLong(0, 40)
  expect(redact.learned).toBe(40)
  await knownSecrets.ensure(sessionOf('s'))
  expect(redact.learned).toBe(41)
  expect(redact.text('a-secret-of-the-session')).toBe('[redacted]')
})

test('DUR-12: after another process has written, the secrets of a session are read again', async () => {
  const { clock, redact, knownSecrets, anotherProcessWrites, store } = setup()
  await knownSecrets.ensure(sessionOf('s'))
  const unknown = { ...knownSecrets, learn() {} }
  await openSecrets({ store, clock, knownSecrets: unknown }, sessionOf('s')).set('key', 'set-by-another-process')
  await knownSecrets.ensure(sessionOf('s'))
  expect(redact.learned).toBe(0)
  anotherProcessWrites()
  await knownSecrets.ensure(sessionOf('s'))
  expect(redact.text('set-by-another-process')).toBe('[redacted]')
})

test('DUR-12: a session forgets old replaced secrets, never one that it still stores', async () => {
  const { redact, knownSecrets, set } = setup()
  await set('s', 'kept', 'a-secret-that-is-kept')
  for (let n = 0; n < 1_500; n++) knownSecrets.learn(sessionOf('s'), `replaced-secret-${n}`)
  await knownSecrets.ensure(sessionOf('s'))
  expect(redact.learned).toBe(1_001)
  expect(redact.text('a-secret-that-is-kept replaced-secret-1499')).toBe('[redacted] [redacted]')
})
