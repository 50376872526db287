// A deploy changes the input schema of a tool, and not its version, while a call is open. Generated: three kinds of
// drift, three kinds of schemas, and the four ways in which the arguments of a call come about.

import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type CallOutcome, type Hook, type Runtime, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { bea } from '../../kit/refund-workers.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { serverForFile } from '../../kit/stores/postgres-for-file.ts'
import type { Mortal } from '../../kit/stores/killable-store.ts'
import { type MakePlace, mortalWorld } from '../../kit/worker-takeover.ts'

/** The timeout is a safety net for a loaded machine. */
const until = <T>(holds: () => T | Promise<T>) => vi.waitUntil(holds, { interval: 5, timeout: 15_000 })

type Wrap = (field: z.ZodType) => z.ZodType
/** What it makes of a field, and of a value of that field. */
interface Family {
  readonly wrap: Wrap
  readonly made: (value: unknown) => unknown
}
const families: Record<string, Family> = {
  // An output that is never valid input: validating or transforming it a second time fails.
  transform: { wrap: (field) => field.transform((value) => ({ made: value })), made: (value) => ({ made: value }) },
  default: { wrap: (field) => field.default('slow' as never), made: (value) => value },
  refinement: { wrap: (field) => field.refine((value) => value !== 'never'), made: (value) => value },
}

const drifts: Record<string, (wrap: Wrap) => z.ZodType> = {
  'a renamed field': (wrap) => z.object({ b: wrap(z.string()), d: z.string() }),
  'a changed type': (wrap) => z.object({ a: wrap(z.number()), c: z.string() }),
  'a tightened constraint': (wrap) => z.object({ a: wrap(z.string().min(5)), c: z.string().max(3) }),
}
const before = (wrap: Wrap): z.ZodType => z.object({ a: wrap(z.string()), c: z.string() })

/** The same change, made by each author. The other arguments fit every schema except that with a changed type. */
const fitting = { a: 'abcdef', b: 'abcdef', c: 'x', d: 'x' }
const misfit = { a: 'abc', c: 'abcdef' }
const origins = ['verbatim', 'edited', 'hooked', 'prepared'] as const
type Origin = (typeof origins)[number]

/** Starts a call whose arguments come about as `origin` says. Resolves when its body runs. */
async function callWith(
  origin: Origin,
  args: object,
  { input, start }: { input: z.ZodType; start: (tool: Tool, options: object) => Promise<Runtime> },
): Promise<void> {
  let runs = false
  // What the caller passes would have the opposite result.
  const asked = origin === 'verbatim' ? args : args === misfit ? fitting : misfit
  const hook: Hook = { name: 'h', before: () => ({ replace: args }) }
  const old = tool({
    name: 'work',
    description: 'Works',
    input,
    onCrash: 'rerun',
    ...(origin === 'edited' ? { approval: 'always' as const } : {}),
    ...(origin === 'prepared' ? { prepare: () => ({ input: args, payload: 'p' }) } : {}),
    execute: () => ((runs = true), new Promise<never>(() => {})),
  })
  const runtime = await start(old, origin === 'hooked' ? { hooks: [hook] } : {})
  ignoreResult(runtime.session('s').run([{ id: 'c', name: 'work', input: asked }]))
  if (origin === 'edited') {
    const [item] = await until(async () => {
      const items = await runtime.inbox()
      return items.length > 0 && items
    })
    expect(await runtime.decide(item?.id ?? '', { edit: args, ...bea })).toMatchObject({ status: 'edited' })
  }
  await until(() => runs)
}

const server = serverForFile()
let schemas = 0
const onPostgres: MakePlace = async () => {
  const { postgresStore } = await import('pawl/postgres')
  const store = await postgresStore({ connection: server.connection, schema: `drift_${++schemas}` })
  return { clock: manualClock(), store, options: { keys: { secret: 'x'.repeat(32) } } }
}

describe.each(['memory', 'sqlite', 'postgres'] as const)('a changed input schema on %s', (kind) => {
  let clock: ManualClock
  let first: Mortal
  const { start, takeOver } = mortalWorld(
    kind === 'postgres' ? onPostgres : kind,
    (fresh) => void ({ clock, first } = fresh),
  )

  /** Starts the call on a worker that is lost, and continues it with the schema `now`. */
  const continued = async (
    origin: Origin,
    args: object,
    was: z.ZodType,
    now: z.ZodType,
  ): Promise<{ outcome: CallOutcome | undefined; seen: unknown[]; payloads: unknown[] }> => {
    const seen: unknown[] = []
    const payloads: unknown[] = []
    let old: Runtime | undefined
    await callWith(origin, args, {
      input: was,
      start: async (work, options) => (old = await start([work], first.store, options)),
    })
    // PostgreSQL measures leases by its own clock, so this worker hands its calls back.
    if (kind === 'postgres') await old?.close({ grace: 0 })
    else first.die()
    const live = tool({
      name: 'work',
      description: 'Works',
      input: now,
      onCrash: 'rerun',
      execute: (input: unknown, ctx) => (payloads.push(ctx.prepared), void seen.push(input)),
    })
    const runtime = await takeOver([live])
    const ask = { id: 'c', name: 'work', input: origin === 'verbatim' ? args : args === misfit ? fitting : misfit }
    const [outcome] = await runtime.session('s').run([ask])
    return { outcome, seen, payloads }
  }

  const all = Object.entries(drifts).flatMap(([drift, change]) =>
    Object.entries(families).flatMap(([family, of]) =>
      origins.map((origin) => ({ drift, change, family, of, origin })),
    ),
  )
  // Every fifth on PostgreSQL: the stores differ in what they record, not in how the schema is checked.
  const generated = kind === 'postgres' ? all.filter((_, n) => n % 5 === 0) : all

  test.for(generated)(
    'DUR-15: $drift, $family, $origin: ends as tool_changed',
    async ({ change, of: { wrap }, origin }) => {
      const { outcome, seen } = await continued(origin, misfit, before(wrap), change(wrap))
      expect(outcome).toMatchObject({
        status: 'failure',
        failure: {
          class: 'unavailable',
          code: 'tool_changed',
          message: expect.stringMatching(/not run again.*schema/),
        },
      })
      expect(seen).toEqual([])
    },
  )

  const fits = Object.entries(families).flatMap(([family, of]) => origins.map((origin) => ({ family, of, origin })))
  test.for(kind === 'postgres' ? fits.filter((_, n) => n % 4 === 3) : fits)(
    'DUR-15: $family, $origin: the body gets what the new schema makes of them',
    async ({ of: { wrap, made }, origin }) => {
      const now = z.object({ a: wrap(z.string().min(5)), c: z.string().max(3), more: z.number().default(7) })
      const { outcome, seen, payloads } = await continued(origin, fitting, before(wrap), now)
      expect(outcome).toMatchObject({ status: 'success' })
      expect(seen).toEqual([{ a: made('abcdef'), c: 'x', more: 7 }])
      expect(payloads).toEqual([origin === 'prepared' ? 'p' : null])
    },
  )

  test.for(kind === 'postgres' ? fits.filter((_, n) => n % 4 === 1) : fits)(
    'DUR-15: $family, $origin: an unchanged schema validates nothing again',
    async ({ of: { wrap, made }, origin }) => {
      let checks = 0
      const schema = (): z.ZodType => z.object({ a: wrap(z.string()), c: z.string() }).refine(() => ++checks > 0)
      const { outcome, seen } = await continued(origin, misfit, schema(), schema())
      expect(outcome).toMatchObject({ status: 'success' })
      expect(seen).toEqual([{ a: made('abc'), c: 'abcdef' }])
      // Verbatim: once. Edited: when it was asked, decided and used. Prepared: before and after `prepare`.
      expect(checks).toBe({ verbatim: 1, edited: 3, hooked: 1, prepared: 2 }[origin])
    },
  )

  test('DUR-15: {a: string} is recorded and {b: number} is live: the body never sees {a}', async () => {
    const { outcome, seen } = await continued(
      'verbatim',
      { a: 'text' },
      z.object({ a: z.string() }),
      z.object({ b: z.number() }),
    )
    expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'tool_changed' } })
    expect(seen).toEqual([])
  })

  test('DUR-15: a refinement that time has made false does not end a call of an unchanged schema', async () => {
    const input = z.object({ at: z.number().refine((at) => at > clock.now(), 'must be in the future') })
    const { outcome, seen } = await continued('verbatim', { at: clock.now() + 1_000 }, input, input)
    expect(clock.now()).toBeGreaterThan(31_000)
    expect(outcome).toMatchObject({ status: 'success' })
    expect(seen).toHaveLength(1)
  })
})
