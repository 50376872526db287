// Narration: calls and answers described for watchers in their language, computed when the feed is read.

import { createRuntime, type FeedEvent, jsonSchema, type Runtime, narrate, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, closedAfterEach, stores } from '../kit/open-runtime.ts'
import { backgroundTool, readOnlyTool, simpleTool } from '../kit/simple-tools.ts'
import { keepOpen } from '../kit/stores/killable-store.ts'

const runtimes = closedAfterEach()

const path = jsonSchema<{ path: string }>({
  type: 'object',
  properties: { path: { type: 'string' } },
  required: ['path'],
})
const read = tool({
  name: 'read_file',
  title: 'Read a file',
  description: 'd',
  input: path,
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: { started: 'Reading {}', completed: 'Read {}', failed: 'Could not read {}', waiting: 'Waiting to read {}' },
      de: { started: 'Liest {}', completed: '{} gelesen', failed: '{} nicht lesbar' },
    },
    ({ path: file }: { path: string }) => file,
  ),
  execute({ path: file }) {
    if (file === 'gone.md') throw new Error('gone')
    return 'text'
  },
})
const refund = simpleTool('refund', { title: 'Refund an order', hints: { destructive: true } }, () => 'ok')
const vault = tool({
  name: 'vault',
  title: 'Open the vault',
  description: 'd',
  input: path,
  sensitive: true,
  hints: { readOnly: true },
  narrate: () => 'own words',
  execute: () => 'x',
})

async function told(runtime: Runtime, locale: string): Promise<FeedEvent[]> {
  const events: FeedEvent[] = []
  const stop = new AbortController()
  const last = (await runtime.session('s').calls.list({ limit: 100 })).length
  let settled = 0
  for await (const event of runtime.session('s').events({ narrate: locale, signal: stop.signal })) {
    events.push(event)
    if ((event.type === 'call.settled' || event.type === 'turn.ended') && ++settled === last) break
  }
  return events
}
const lines = (events: readonly FeedEvent[]): string[] =>
  events.flatMap(({ type, narration, headline }) =>
    (narration ?? headline) === undefined ? [] : `${type} ${narration ?? headline}`,
  )

for (const [kind, fresh] of stores) {
  describe(`narration on ${kind}`, () => {
    const open = opening(fresh)

    test('SESS-9, FEED-1: calls are narrated by their tool per locale, answers as a headline', async () => {
      const { runtime, clock } = await open({ tools: [read, refund] })
      const session = runtime.session('s')
      const model = scriptedModel([
        { call: ['a.md', 'a.md', 'gone.md', 'b.md'].map((file) => ({ name: 'read_file', input: { path: file } })) },
        {
          call: [
            { name: 'read_file', input: { path: 7 } },
            { name: 'nothing_such', input: { order: 'A1' } },
          ],
        },
        'Done.',
      ])
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      const english = lines(await told(runtime, 'en'))
      expect(english.filter((line) => line.startsWith('turn.answered'))).toEqual([
        'turn.answered Reading a.md, twice; Reading gone.md and 1 more',
        'turn.answered Running: Read a file; Running: Nothing such',
      ])
      expect(english.filter((line) => line.startsWith('call.settled'))).toEqual([
        'call.settled Read a.md',
        'call.settled Read a.md',
        'call.settled Could not read gone.md',
        'call.settled Read b.md',
        'call.settled Failed: Read a file',
        'call.settled Failed: Nothing such',
      ])
      expect(english).toContain('call.received Reading b.md')
      expect(english).toContain('call.started Reading b.md')
      const german = lines(await told(runtime, 'de-AT'))
      expect(german[0]).toBe('turn.answered Liest a.md, zweimal; Liest gone.md und 1 weitere')
      expect(german).toContain('call.settled gone.md nicht lesbar')
      expect(german).toContain('call.settled Fehlgeschlagen: Nothing such')
      // Without `narrate` there is no narration, and it is not stored.
      for await (const event of session.events({})) {
        expect(event).not.toHaveProperty('narration')
        expect(event).not.toHaveProperty('headline')
        if (event.type === 'call.settled') break
      }
      expect(() => session.events({ narrate: 7 as never })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
      for await (const { narration } of runtime.events({ narrate: 'en' }))
        if (narration !== undefined) {
          expect(narration).toBe('Reading a.md')
          break
        }
    })

    test('SESS-9: waiting, cancelled and unknown-tool calls have a default narration', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const first = await createRuntime({ store: shared, clock, logger: quiet, tools: [refund] })
      const session = first.session('s')
      const running = session.run([{ id: 'a', name: 'refund', input: { order: 'A1' } }])
      await clock.advance(100)
      await session.cancel()
      await after(running, clock)
      expect(lines(await told(first, 'en'))).toEqual([
        'call.received Running: Refund an order (A1)',
        'call.parked Waiting: Refund an order (A1)',
        'call.settled Cancelled: Refund an order (A1)',
      ])
      await first.close()
      const other = await createRuntime({ store: shared, clock, logger: quiet })
      runtimes.push(other)
      expect(lines(await told(other, 'de'))).toEqual([
        'call.received Läuft: Refund (A1)',
        'call.parked Wartet: Refund (A1)',
        'call.settled Abgebrochen: Refund (A1)',
      ])
    })

    test('SESS-9: a sensitive tool is narrated by its title only, and secrets are redacted', async () => {
      const secret = `sk-live-${'x'.repeat(100)}`
      const login = readOnlyTool(
        'login',
        {
          narrate: ({ user, password }) => `Signing in ${(user as string).slice(0, 12)} with ${password as string}`,
        },
        () => 'x',
      )
      const spawnable = backgroundTool('deep', { sensitive: true }, () => 'x')
      const { runtime, clock } = await open({ tools: [vault, login, spawnable], secrets: [secret] })
      const session = runtime.session('s')
      const model = scriptedModel([
        {
          call: [
            { name: 'vault', input: { path: '/home/hidden-1' } },
            { name: 'login', input: { user: secret, password: 'hidden-2' } },
            { name: 'spawn_background', input: { tool: 'deep', args: {}, title: 'hidden-3' } },
          ],
        },
        'Done.',
      ])
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      await clock.advance(5_000)
      const said = lines(await told(runtime, 'en'))
      expect(said[0]).toBe('turn.answered Running: Open the vault; Signing in [redacted] with … and 1 more')
      expect(said).toContain('call.settled Done: Open the vault')
      expect(said).toContain('call.settled Done: Run a tool in the background')
      expect(said).toContain('call.started Signing in [redacted] with …')
      expect(said.join('\n')).not.toMatch(/hidden|sk-live|own words/)
    })

    test('SESS-9: a narrate function that throws, hangs or returns a wrong type does not stop the feed', async () => {
      const bad = (name: string, narrate: unknown) => readOnlyTool(name, { narrate: narrate as never }, () => 'x')
      const tools = [
        bad('throws', () => {
          throw new Error('x')
        }),
        bad('hangs', () => new Promise(() => {})),
        bad('rejects', () => Promise.reject(new Error('x'))),
        bad('number', () => 7),
      ]
      const { runtime, clock } = await open({ tools })
      await after(runtime.session('s').run(tools.map(({ name }, n) => ({ id: `${n}`, name, input: {} }))), clock)
      const said = lines(await told(runtime, 'en')).filter((line) => line.startsWith('call.settled'))
      expect(said.toSorted()).toEqual(
        ['Hangs', 'Number', 'Rejects', 'Throws'].map((name) => `call.settled Done: ${name}`),
      )
    })
  })
}
