// The tools of the golden journals. While recording, bodies block where the crash happens; afterwards they complete.

import { fail, retry, type Tool, tool, type ToolContext } from 'pawl'

const input = { type: 'object' } as const
/** The test clock moves faster than the database answers. */
const timeout = '10h'
const never = new Promise<never>(() => {})
/** A tool that runs beside others and again after a crash. */
const parallel = (name: string, description: string, execute: (ctx: ToolContext) => unknown): Tool =>
  tool({
    name,
    description,
    input,
    onCrash: 'rerun',
    concurrency: 'parallel',
    timeout,
    execute: (_, ctx) => execute(ctx),
  })

export function toolsOf(recording: boolean): Tool[] {
  const now = recording ? 'then' : 'now'
  return [
    tool({ name: 'echo', description: 'Gives back', input, hints: { readOnly: true }, execute: (given) => given }),
    tool({
      name: 'steps',
      description: 'Two steps',
      input,
      onCrash: 'rerun',
      execute: async (given, ctx) => [await ctx.step('a', given, (same) => same), await ctx.step('b ü', () => now)],
    }),
    tool({
      name: 'fails',
      description: 'Fails',
      input,
      hints: { readOnly: true },
      execute() {
        throw fail('No such order', { code: 'not_found', raw: { order: 7 } })
      },
    }),
    tool({
      name: 'charges',
      description: 'Hangs, must not run twice',
      input,
      execute: () => (recording ? never : 'charged again'),
    }),
    parallel('sleeps', 'Sleeps', async (ctx) => {
      const before = await ctx.step('before', () => now)
      await ctx.sleep('1h')
      return `${before}, ${now}`
    }),
    tool({
      name: 'retries',
      description: 'Tries again in an hour',
      input,
      concurrency: 'parallel',
      timeout,
      hints: { idempotent: true },
      execute() {
        if (recording) throw retry({ after: '1h', message: 'Not yet' })
        return 'at last'
      },
    }),
    parallel('parks', 'Parks', (ctx) => ctx.later({ name: 'answer' })),
    parallel(
      'waits',
      'Waits in its body',
      async (ctx) => `heard ${await (await ctx.later<string>({ name: 'ears' })).value}`,
    ),
    parallel('interrupted', 'Hangs after its first step', async (ctx) => {
      const first = await ctx.step('first', () => now)
      const second = await ctx.step('second', () => (recording ? never : now))
      return [first, second]
    }),
    parallel('once', 'Hangs in a step that must not run twice', (ctx) =>
      ctx.step('only', () => (recording ? never : now), { once: true }),
    ),
    tool({
      name: 'keeps',
      description: 'Keeps bytes',
      input,
      hints: { readOnly: true },
      execute: (_, ctx) => ({
        file: ctx.attachments.create(Buffer.from([0, 1, 2, 255]), { mediaType: 'application/x', name: 'q"\'ü' }),
      }),
    }),
    parallel('calls', 'Calls another and sleeps', async (ctx) => {
      const [inner] = await ctx.run([{ id: 'inner', name: 'echo', input: { n: 1 } }])
      await ctx.sleep('1h')
      return inner?.status === 'success' ? inner.value : 'not'
    }),
  ]
}

/** The input of the calls, identical before and after. */
export const odd = 'o\'dd "näme" \\ 😀'
export const asks = {
  settled: {
    tenant: 'default',
    session: 'settled',
    calls: [
      {
        id: 'echo',
        name: 'echo',
        input: { nul: 'a\0b', quote: `'"\\`, deep: [[1, 2.5, -0, 1e300], null, true], emoji: '😀' },
      },
      { id: 'steps', name: 'steps', input: { x: 1 } },
      { id: 'fails', name: 'fails', input: {} },
      { id: 'keeps', name: 'keeps', input: {} },
      { id: 'nobody', name: 'no_such_tool', input: {} },
      { id: 'bad', name: 'echo', input: 'not an object' },
    ],
  },
  odd: { tenant: odd, session: odd, calls: [{ id: odd, name: 'echo', input: { same: odd } }] },
  cancelled: { tenant: 'default', session: 'cancelled', calls: [{ id: 'c', name: 'parks', input: {} }] },
  unknown: { tenant: 'default', session: 'unknown', calls: [{ id: 'u', name: 'charges', input: { amount: 5 } }] },
  open: {
    tenant: 'default',
    session: 'open',
    calls: ['sleeps', 'retries', 'parks', 'waits', 'interrupted', 'once', 'calls'].map((name) => ({
      id: name,
      name,
      input: {},
    })),
  },
  stops: { tenant: 'default', session: 'stops', calls: [{ id: 's', name: 'charges', input: {} }] },
} as const
export type Scene = keyof typeof asks
export const principal = 'who \0 knows \\0'
export const secret = 'the same secret in all golden journals'
