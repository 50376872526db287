// Questions, connections, client tools, unknown outcomes, and the timeouts that pause while people answer.

import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { connectionRequired, type InboxItem, notice, type Runtime, type Tool, tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock } from '../../src/testing/manual-clock.ts'
import { type Mortal, type StoreKind } from '../kit/stores/killable-store.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'
import { hang, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const empty = z.object({})
const bea = { by: 'user:bea' }

describe.each(['memory', 'sqlite'] as const)('questions, connections and client calls on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { start, takeOver } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  const item = async (runtime: Runtime): Promise<InboxItem> =>
    vi.waitUntil(async () => (await runtime.inbox())[0], { interval: 1 })
  const one = async (runtime: Runtime, name: string, id = 'c1') => {
    const [outcome] = await runtime.session('s', { principal: 'user:ada' }).run([{ id, name }])
    return outcome
  }
  const allText = async (of: Runtime): Promise<string> => {
    const seen: unknown[] = []
    for await (const event of of.events()) {
      seen.push(event)
      if (event.type === 'call.settled') break
    }
    return JSON.stringify([seen, await of.session('s').calls.list(), await of.inbox()])
  }

  describe('questions', () => {
    const color = (inside: boolean, over: object = {}): Tool =>
      rerunTool('color', { description: 'Asks for a color' }, async (_, ctx) => {
        const asked = await ctx.ask({ text: 'Which color?', choices: ['red', 'blue'], ...over })
        return inside ? { got: await asked.value } : asked
      })

    test.for([true, false])(
      'POL-5: a choice question is asked, validated and answered; awaited inside the body: %s',
      async (inside) => {
        const runtime = await start([color(inside)])
        const run = one(runtime, 'color')
        const { id, kind: what, question, preview } = await item(runtime)
        expect({ what, question, preview }).toEqual({
          what: 'question',
          question: { kind: 'choice', text: 'Which color?', choices: ['red', 'blue'], several: false },
          preview: { summary: 'Which color?' },
        })
        expect(await runtime.decide(id, { answer: 'green', ...bea })).toMatchObject({ answer: 'invalid' })
        expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'invalid' })
        expect(await runtime.decide(id, { answer: 'blue', ...bea })).toMatchObject({
          answer: 'accepted',
          status: 'answered',
        })
        const answer = { status: 'answered', answer: 'blue', by: 'user:bea' }
        expect(await run).toMatchObject({ status: 'success', value: inside ? { got: answer } : answer, attempts: 1 })
      },
    )

    test.for([true, false])(
      'POL-5: an unanswered question takes its default; awaited inside the body: %s',
      async (inside) => {
        const runtime = await start([color(inside, { default: 'red', deadline: '10m' })])
        const run = one(runtime, 'color')
        await item(runtime)
        await clock.advance('10m')
        const answer = { status: 'timed_out', answer: 'red', by: null }
        expect(await run).toMatchObject({ status: 'success', value: inside ? { got: answer } : answer })
        expect(await runtime.inbox()).toEqual([])
      },
    )

    test('POL-5: questions can be declined or multiple-choice; unattended sessions cannot ask', async () => {
      const runtime = await start([color(false, { several: true, default: ['red'] })])
      const run = one(runtime, 'color')
      await runtime.decide((await item(runtime)).id, { deny: true, ...bea })
      expect(await run).toMatchObject({ value: { status: 'declined', answer: null, by: 'user:bea' } })
      const second = one(runtime, 'color', 'c2')
      expect(await runtime.decide((await item(runtime)).id, { answer: ['red', 'red'], ...bea })).toMatchObject({
        answer: 'invalid',
      })
      await runtime.decide((await item(runtime)).id, { answer: ['blue', 'red'], ...bea })
      expect(await second).toMatchObject({ value: { answer: ['blue', 'red'] } })
      const alone = runtime.session('s', { attended: false }).run([{ id: 'c3', name: 'color' }])
      await clock.advance('1s')
      expect(await alone).toMatchObject([{ value: { status: 'timed_out', answer: ['red'] } }])
    })

    test('POL-5: a secret answer reaches only the body, not the record, feed, inbox or model', async () => {
      const got: unknown[] = []
      const login = rerunTool('login', async (_, ctx) => {
        const { answer } = await (await ctx.ask({ text: 'Password?', secret: true })).value
        got.push(answer)
        return { echo: `used ${answer as string}` }
      })
      const runtime = await start([login])
      const run = one(runtime, 'login')
      await runtime.decide((await item(runtime)).id, { answer: 'correct-horse-battery', ...bea })
      const outcome = await run
      expect(got).toEqual(['correct-horse-battery'])
      expect(outcome).toMatchObject({
        value: { echo: 'used [redacted]' },
        parts: [{ type: 'text', text: '{"echo":"used [redacted]"}' }],
      })
      const waits = await store.waitsOf((await runtime.session('s').calls.list())[0]?.uid as string)
      expect(JSON.stringify(waits)).not.toContain('correct-horse')
      const parks = simpleTool('p', (_, ctx) => ctx.ask({ text: 'P?', secret: true }))
      runtime.tools.add([parks])
      expect(await one(runtime, 'p', 'p1')).toMatchObject({ status: 'failure', failure: { class: 'internal' } })
    })

    test('POL-5: a question survives a crash and is asked only once', async () => {
      let bodies = 0
      const asking = rerunTool('color', { description: 'Asks' }, async (_, ctx) => {
        bodies++
        return (await (await ctx.ask({ text: 'Which?' })).value).answer
      })
      const dying = await start([asking], first.store)
      one(dying, 'color').catch(() => {})
      const { id } = await item(dying)
      first.die()
      const next = await takeOver([asking])
      await vi.waitUntil(() => bodies === 2)
      expect((await next.inbox()).map((each) => each.id)).toEqual([id])
      await next.decide(id, { answer: 'this', ...bea })
      expect(await one(next, 'color')).toMatchObject({ status: 'success', value: 'this' })
    })
  })

  describe('connections', () => {
    const github = (used: string[], over: object = {}): Tool =>
      tool({
        name: 'issues',
        description: 'Reads issues',
        input: empty,
        ...over,
        execute: async (_: unknown, ctx: Parameters<Tool['execute']>[1]) => {
          const connection = await ctx.connection('github')
          if (!connection || connection.token.includes('stale')) return connectionRequired('github')
          used.push(connection.token)
          return { read: `with ${connection.token}` }
        },
      })

    test('POL-5: a call resumes when connected, and its token is in no result, feed or record', async () => {
      const used: string[] = []
      const runtime = await start([github(used)])
      const run = one(runtime, 'issues')
      expect(await item(runtime)).toMatchObject({ kind: 'connection', provider: 'github', verbs: ['approve', 'deny'] })
      const other = { provider: 'github', principal: 'user:eve' }
      expect(await runtime.connections.set(other, { token: 'ghp_of_somebody_else', ...bea })).toEqual({ resumed: 0 })
      const mine = { provider: 'github', principal: 'user:ada' }
      expect(await runtime.connections.set(mine, { token: 'ghp_verysecrettoken', ...bea })).toEqual({ resumed: 1 })
      const outcome = await run
      expect(outcome).toMatchObject({ status: 'success', value: { read: 'with [redacted]' }, attempts: 2 })
      expect(used).toEqual(['ghp_verysecrettoken'])
      expect(await runtime.inbox()).toEqual([])
      expect(await runtime.connections.list()).toMatchObject([{ provider: 'github' }, { provider: 'github' }])
      expect(await allText(runtime)).not.toContain('ghp_verysecret')
      const kept = await store.documentsOf({ of: 'connection', tenant: 'default', after: '', limit: 10 })
      expect(kept.every(({ value }) => value.startsWith('~1.'))).toBe(true)
      expect(await runtime.connections.remove(mine)).toBe(true)
      expect(await runtime.connections.remove(mine)).toBe(false)
    })

    test('POL-5: a call asks for a connection at most twice, then returns what is missing', async () => {
      const runtime = await start([github([])])
      const run = one(runtime, 'issues')
      const { id } = await item(runtime)
      await runtime.connections.set({ provider: 'github' }, { token: 'stale token one', ...bea })
      await vi.waitUntil(async () => (await runtime.inbox()).some((each) => each.id !== id))
      await runtime.connections.set({ provider: 'github' }, { token: 'stale token two', ...bea })
      expect(await run).toMatchObject({ status: 'success', value: { connection_required: 'github' }, attempts: 3 })
    })

    test('POL-5: a declined, unanswered or unattended connection request reaches the model', async () => {
      const runtime = await start([github([])])
      const declined = one(runtime, 'issues')
      await runtime.decide((await item(runtime)).id, { deny: true, reason: 'not mine', ...bea })
      expect(await declined).toMatchObject({ status: 'failure', failure: { code: 'connection_declined' } })
      const silent = one(runtime, 'issues', 'c2')
      await item(runtime)
      await clock.advance('15m')
      expect(await silent).toMatchObject({ value: { connection_required: 'github' } })
      const [alone] = await runtime.session('s', { attended: false }).run([{ id: 'c3', name: 'issues' }])
      expect(alone).toMatchObject({
        value: { connection_required: 'github' },
        parts: [{ text: '{"connection_required":"github"}' }],
      })
    })

    test('POL-5: a connection made while the body reports it missing resumes the call', async () => {
      const runtime = await start([
        simpleTool('issues', { description: 'Reads' }, async (_, ctx) => {
          const connection = await ctx.connection('github')
          if (connection) return 'read'
          await runtime.connections.set({ provider: 'github' }, { token: 'in between', ...bea })
          return connectionRequired('github')
        }),
      ])
      expect(await one(runtime, 'issues')).toMatchObject({ status: 'success', value: 'read', attempts: 2 })
      expect(await runtime.inbox()).toEqual([])
    })
  })

  describe('client tools', () => {
    const pick = tool({
      name: 'pick_file',
      description: 'The user picks a file',
      input: z.object({ kind: z.string() }),
      output: z.object({ path: z.string() }),
      client: true,
    })
    const ask = { id: 'c1', name: 'pick_file', input: { kind: 'image' } }

    test('SESS-7: a client call has an id and validated arguments, and its answer is validated once', async () => {
      const runtime = await start([pick])
      const session = runtime.session('s')
      const run = session.run([ask, { id: 'bad', name: 'pick_file', input: { kind: 1 } }], { batch: 'b' })
      const [handed] = await session.run([ask], { batch: 'b', until: 'waiting' })
      expect(handed).toMatchObject({ status: 'waiting', for: 'client', input: { kind: 'image' } })
      expect(await session.pendingClientCalls()).toMatchObject([
        { callId: 'c1', batch: 'b', name: 'pick_file', input: { kind: 'image' } },
      ])
      expect(await runtime.inbox()).toEqual([])
      expect(await session.answer('nobody', { value: { path: 'a' } })).toEqual({ answer: 'unknown_or_revoked' })
      expect(await runtime.session('other').answer('c1', { value: { path: 'a' } })).toEqual({
        answer: 'unknown_or_revoked',
      })
      expect(await runtime.session('s', { tenant: 'other' }).answer('c1', { value: { path: 'a' } })).toEqual({
        answer: 'unknown_or_revoked',
      })
      expect(await session.answer('c1', { value: { path: 1 } })).toMatchObject({ answer: 'invalid' })
      expect(await session.answer('c1', { value: { path: 'a.png' } })).toEqual({ answer: 'accepted' })
      expect(await run).toMatchObject([
        { status: 'success', value: { path: 'a.png' } },
        { status: 'failure', failure: { code: 'invalid_arguments' } },
      ])
      expect(await session.answer('c1', { value: { path: 'b' } })).toEqual({ answer: 'unknown_or_revoked' })
      expect(await session.pendingClientCalls()).toEqual([])
    })

    test('SESS-7: a client call expires after 300 s, even after a crash', async () => {
      const dying = await start([pick], first.store)
      ignoreResult(dying.session('s').run([ask]))
      await vi.waitUntil(async () => (await dying.session('s').pendingClientCalls()).length === 1)
      first.die()
      const next = await takeOver([pick])
      const run = next.session('s').run([ask])
      expect(await next.session('s').pendingClientCalls()).toHaveLength(1)
      await clock.advance('268s')
      expect(await next.session('s').pendingClientCalls()).toHaveLength(1)
      await clock.advance('2s')
      expect(await run).toMatchObject([{ status: 'failure', failure: { class: 'timeout', code: 'wait_timeout' } }])
      expect(await next.session('s').answer('c1', { value: { path: 'late' } })).toEqual({
        answer: 'unknown_or_revoked',
      })
    })

    test('SESS-7: policy is checked before a client call, and a client failure is a failure', async () => {
      const runtime = await start([pick], store, {
        policy: { rules: [{ tool: 'pick_file', when: { kind: 'secret' }, then: 'deny' }] },
      })
      const session = runtime.session('s')
      expect(await session.run([{ ...ask, input: { kind: 'secret' } }])).toMatchObject([
        { failure: { code: 'denied_by_policy' } },
      ])
      const run = session.run([{ ...ask, id: 'c2' }])
      await vi.waitUntil(async () => (await session.pendingClientCalls()).length === 1)
      await session.answer('c2', { failure: { code: 'closed', message: 'The user closed the dialog' } })
      expect(await run).toMatchObject([{ status: 'failure', failure: { class: 'external', code: 'closed' } }])
    })
  })

  describe('unknown outcomes', () => {
    const charge = (body: () => unknown): Tool =>
      tool({ name: 'charge', description: 'Charges a card', input: empty, onUnknown: 'ask', execute: body })
    const crashed = async (): Promise<Runtime> => {
      const dying = await start([charge(hang)], first.store)
      one(dying, 'charge').catch(() => {})
      await vi.waitUntil(async () =>
        (await store.unsettled({ after: '', limit: 9 })).some(({ state }) => state === 'running'),
      )
      first.die()
      return takeOver([charge(() => 'charged again')])
    }

    test.for([
      ['answer', { answer: 'charged' }, { status: 'success', value: 'charged', attempts: 1 }],
      ['approve', { approve: true }, { status: 'success', value: 'charged again', attempts: 2 }],
      [
        'deny',
        { deny: true, reason: 'the bank is closed' },
        { status: 'unknown', unknown: { message: expect.stringContaining('the bank is closed') } },
      ],
    ] as [string, object, object][])(
      'DUR-3: a person resolves an unknown outcome: %s',
      async ([, decision, expected]) => {
        const runtime = await crashed()
        const found = await item(runtime)
        expect(found).toMatchObject({
          kind: 'finding',
          tool: 'charge',
          interrupted: { attempt: 1 },
          verbs: ['approve', 'deny', 'answer'],
        })
        expect(await runtime.decide(found.id, { ...decision, ...bea } as never)).toMatchObject({ answer: 'accepted' })
        expect(await one(runtime, 'charge')).toMatchObject(expected)
      },
    )

    test('DUR-3: an unknown outcome that is never resolved stays unknown', async () => {
      const runtime = await crashed()
      await item(runtime)
      await clock.advance('7d')
      expect(await one(runtime, 'charge')).toMatchObject({ status: 'unknown', unknown: { evidence: { attempt: 1 } } })
    })

    test('DUR-3, DUR-4: an interrupted once-step cannot be rerun; a person can only give its answer', async () => {
      const once = (body: () => unknown): Tool =>
        rerunTool('once', { onUnknown: 'ask' }, (_, ctx) => ctx.step('pay', body, { once: true }))
      const dying = await start([once(hang)], first.store)
      one(dying, 'once').catch(() => {})
      await vi.waitUntil(async () =>
        (await store.unsettled({ after: '', limit: 9 })).some(({ state }) => state === 'running'),
      )
      await clock.advance(10)
      first.die()
      const runtime = await takeOver([once(() => 'twice')])
      const { id, verbs } = await item(runtime)
      expect(verbs).toEqual(['deny', 'answer'])
      expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'invalid' })
      await runtime.decide(id, { answer: 'paid', ...bea })
      expect(await one(runtime, 'once')).toMatchObject({ status: 'success', value: 'paid' })
    })
  })

  describe('timeouts', () => {
    test('TIME-2: a total timeout pauses while people decide; a deadline does not', async () => {
      const slow = simpleTool(
        'slow',
        { approval: 'always', timeout: { attempt: '1h', total: '10s' } },
        () => new Promise<string>((resolve) => void clock.timer(9_000, () => resolve('done'))),
      )
      const runtime = await start([slow])
      const run = one(runtime, 'slow')
      const { id } = await item(runtime)
      await clock.advance('10m')
      await runtime.decide(id, { approve: true, ...bea })
      await vi.waitUntil(async () =>
        (await store.unsettled({ after: '', limit: 9 })).some(({ state }) => state === 'running'),
      )
      await clock.advance('9s')
      expect(await run).toMatchObject({ status: 'success', value: 'done', waitingMs: 600_000, runningMs: 9_000 })
      const deadline = clock.now() + 60_000
      const [late] = await Promise.all([
        runtime.session('s').run([{ id: 'c2', name: 'slow', deadline }]),
        item(runtime).then(() => clock.advance('60s')),
      ])
      expect(late).toMatchObject([{ status: 'failure', failure: { code: 'approval_expired' } }])
    })

    test('TIME-2: a total timeout pauses while a body awaits an answer and then continues', async () => {
      const asking = rerunTool('asks', { description: 'Asks', timeout: { total: '10s' } }, async (_, ctx) => {
        await (
          await ctx.ask({ text: 'Well?', deadline: '1h' })
        ).value
        return new Promise<string>((resolve) => void clock.timer(20_000, () => resolve('late')))
      })
      const runtime = await start([asking])
      const run = one(runtime, 'asks')
      const { id } = await item(runtime)
      await clock.advance('30m')
      await runtime.decide(id, { answer: 'yes', ...bea })
      await clock.advance('9s')
      expect((await store.unsettled({ after: '', limit: 9 })).map(({ state }) => state)).toEqual(['running'])
      await clock.advance('2s')
      expect(await run).toMatchObject({ status: 'failure', failure: { code: 'deadline_exceeded' } })
    })
  })

  test('POL-6, DUR-12: an unreadable inbox item does not hide the items after it', async () => {
    const wipe = tool({ name: 'wipe', description: 'Wipes', input: empty, approval: 'always', execute: () => 'wiped' })
    const runtime = await start([wipe], store, { encrypt: true })
    await runtime.session('s').run(
      ['a', 'b', 'c'].map((id) => ({ id, name: 'wipe' })),
      { until: 'waiting' },
    )
    const [first, ...others] = await runtime.inbox()
    const name = { of: 'inbox', tenant: 'default', session: 's', key: first?.id as string }
    await store.commit({ guards: [], documents: [{ ...name, value: '~1.AAAAAAAA.broken' }], events: [] })
    expect((await runtime.inbox({ limit: 1 })).map(({ id }) => id)).toEqual([others[0]?.id])
    expect((await runtime.inbox()).map(({ id }) => id)).toEqual(others.map(({ id }) => id))
  })

  describe('a new user message', () => {
    const wipe = simpleTool('wipe', { hints: { destructive: true } }, () => 'wiped')

    test('POL-7: a placeholder is in the history and the outcome arrives as a runtime notice', async () => {
      const runtime = await start([wipe])
      const session = runtime.session('s')
      const [waiting] = await session.run([{ id: 'c1', name: 'wipe' }], { batch: 'm1', until: 'waiting' })
      expect(waiting?.status === 'waiting' && waiting.parts).toEqual([
        {
          type: 'text',
          text: expect.stringMatching(
            /^\[Tool call waiting\]\nIt waits for the approval of a person and has not run\./,
          ),
        },
      ])
      await runtime.decide((await item(runtime)).id, { approve: true, ...bea })
      const [outcome] = await session.run([{ id: 'c1', name: 'wipe' }], { batch: 'm1' })
      expect(notice(outcome as never)).toEqual([
        {
          type: 'text',
          text: `[Runtime notice: this is not a message of the user. The call "c1" of 'wipe' that was waiting has ended.]\nwiped`,
        },
      ])
    })

    test('POL-7: a superseding message cancels pending calls, and none of them runs', async () => {
      const runtime = await start([wipe])
      const session = runtime.session('s')
      const run = session.run([
        { id: 'c1', name: 'wipe' },
        { id: 'c2', name: 'wipe' },
      ])
      const { id } = await item(runtime)
      await vi.waitUntil(async () => (await runtime.inbox()).length === 2)
      expect(await runtime.session('elsewhere').supersede()).toBe(0)
      expect(await session.supersede('The user said something else')).toBe(2)
      expect(await run).toMatchObject([
        { status: 'cancelled', cancellation: { message: 'The user said something else' } },
        { status: 'cancelled' },
      ])
      expect(await runtime.inbox()).toEqual([])
      expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({
        answer: 'already_decided',
        status: 'withdrawn',
      })
    })
  })
})
