// Connection tokens and secret answers are redacted from results, output, arguments and errors.

import { fail, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ada, bea, worldOn } from '../kit/approval-workers.ts'
import { simpleTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const empty = z.object({})
const token = 'ghp_0123456789abcdef'

describe.each(['memory', 'sqlite'] as const)('connection tokens on %s', (kind) => {
  const world = worldOn(kind)
  const everything = async (uid?: string): Promise<string> => {
    const calls = await world.store.callsOf({ tenant: 'default', session: 's' }, { after: '', limit: 100 })
    const parts: unknown[] = []
    for (const call of calls) {
      const { trouble: _, ...rest } = call
      parts.push(rest, await world.store.steps(call.uid), await world.store.waitsOf(call.uid))
    }
    parts.push(await world.store.events({ after: 0, limit: 1_000 }), uid)
    return JSON.stringify(parts)
  }
  const connected = async (execute: Parameters<typeof tool>[0]['execute'], more: object = {}) => {
    const issues = tool({ name: 'issues', description: 'd', input: empty, ...more, execute } as never)
    const runtime = await world.start([issues])
    await runtime.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    return runtime
  }

  test('POL-5: a result within the grace period of a cancel contains no token', async () => {
    const runtime = await connected(async (_, ctx) => {
      const github = await ctx.connection('github')
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
      return { used: github?.token }
    })
    const session = runtime.session('s', ada)
    const run = session.run([{ id: 'a', name: 'issues' }])
    await world.clock.advance(10)
    await session.cancel('enough')
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(outcome?.status).toBe('success')
    expect((await everything()).includes(token)).toBe(false)
  })

  test('POL-5: a result within the grace period of a timeout contains no token', async () => {
    const runtime = await connected(
      async (_, ctx) => {
        const github = await ctx.connection('github')
        await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
        return { used: github?.token }
      },
      { timeout: '5s' },
    )
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'issues' }])
    await world.clock.advance('6s')
    await run
    expect((await everything()).includes(token)).toBe(false)
  })

  test('POL-5, TIME-1: a late result contains no token', async () => {
    const late = Promise.withResolvers<void>()
    const runtime = await connected(
      async (_, ctx) => {
        const github = await ctx.connection('github')
        await late.promise
        return { used: github?.token }
      },
      { timeout: '5s' },
    )
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'issues' }])
    await world.clock.advance('6s')
    await run
    late.resolve()
    await world.clock.advance('1s')
    const text = await everything()
    expect(text).toContain('late:1')
    expect(text.includes(token)).toBe(false)
  })

  test('POL-5, CALL-10: output streamed before the token was fetched does not show it', async () => {
    const issues = simpleTool('issues', async (_, ctx) => {
      ctx.output('connecting\n')
      const github = await ctx.connection('github')
      ctx.output(`using ${github?.token}\n`)
      return 'done'
    })
    // Connected on another machine: this worker learns the token only when its body reads the connection.
    const door = await world.start([issues], { worker: false })
    await door.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    const runtime = await world.start([issues])
    const seen: unknown[] = []
    const reading = (async () => {
      for await (const event of runtime.events({ live: true })) {
        seen.push(event)
        if (event.type === 'call.settled') return
      }
    })()
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'issues' }])
    await world.clock.advance('1s')
    await run
    await reading
    expect(JSON.stringify(seen)).toContain('connecting')
    expect(JSON.stringify(seen).includes(token)).toBe(false)
  })

  test('POL-5: prepare() can read the connection; no recorded argument or payload has the token', async () => {
    const runtime = await connected(() => 'done', {
      input: z.object({ auth: z.string().optional() }),
      async prepare(_: unknown, ctx: { connection(p: string): Promise<{ token: string } | null> }) {
        const github = await ctx.connection('github')
        return { input: { auth: github?.token ?? '' }, payload: { header: `Bearer ${github?.token}` } }
      },
    })
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'issues', input: {} }])
    await world.clock.advance('1s')
    await run
    expect((await everything()).includes(token)).toBe(false)
  })

  test('POL-5: the outcome that reconcile() returns contains no token', async () => {
    const stop = (execute: () => unknown) =>
      simpleTool(
        'issues',
        {
          async reconcile(_, ctx) {
            const github = await ctx.connection('github')
            return { value: `looked with ${github?.token}` }
          },
        },
        execute,
      )
    const { runtime, life } = await world.doomed([stop(() => new Promise(() => {}))])
    await runtime.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'issues' }]))
    await world.clock.advance(10)
    life.die()
    const second = await world.takeOver([stop(() => 'x')])
    const [outcome] = await second.session('s', ada).run([{ id: 'a', name: 'issues' }])
    expect(outcome?.status).toBe('success')
    expect((await everything()).includes(token)).toBe(false)
  })

  test('POL-5: a step error and a fail() message contain no token', async () => {
    const runtime = await connected(
      async (_, ctx) => {
        const github = await ctx.connection('github')
        await ctx
          .step('call', () => {
            throw fail(`401 for ${github?.token}`)
          })
          .catch(() => {})
        throw fail(`401 for ${github?.token}`, { raw: { header: github?.token } } as never)
      },
      { onCrash: 'rerun' },
    )
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'issues' }])
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(outcome?.status).toBe('failure')
    expect(JSON.stringify(outcome)).not.toContain(token)
    expect((await everything()).includes(token)).toBe(false)
  })
})
