// Tools for crash tests, in a module of their own because a child process loads it. Each external effect is a line in
// a file.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { fail, retry, tool } from 'pawl'

const ledger = (): string => process.env.PAWL_TEST_LEDGER as string
export const happened = (): string[] =>
  existsSync(ledger()) ? readFileSync(ledger(), 'utf8').split('\n').filter(Boolean) : []
const effect = (line: string): void => appendFileSync(ledger(), `${line}\n`)
/** An external service that deduplicates by key. */
const effectOnce = (key: string, line: string): void => {
  if (!happened().some((each) => each.endsWith(key))) effect(`${line} ${key}`)
}

// Plain JSON Schema loads faster than zod, and a crash test loads this module often.
const schema: unknown = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
const input = schema as StandardSchemaV1<{ n: number }>
const made = { description: 'For crashes', input }

/** Keyed steps, sequential and concurrent, and replayed values. */
export const stepped = tool({
  ...made,
  name: 'stepped',
  onCrash: 'rerun',
  async execute({ n }, ctx) {
    const at = await ctx.now()
    const first = await ctx.step('first', { n }, () => {
      effectOnce(ctx.key('first'), `first ${n}`)
      return n + 1
    })
    await Promise.all(['left', 'right'].map((side) => ctx.step(side, () => effectOnce(ctx.key(side), side))))
    return { first, at, uuid: ctx.uuid(), random: ctx.random() }
  },
})

/** Wrong on purpose: the effect has no idempotency key. */
export const careless = tool({
  ...made,
  name: 'careless',
  onCrash: 'rerun',
  async execute({ n }, ctx) {
    await ctx.step('charge', () => effect(`charge ${n}`))
    return 'charged'
  },
})

/** Wrong on purpose: its outcome depends on the attempt. */
export const fickle = tool({
  ...made,
  name: 'fickle',
  onCrash: 'rerun',
  async execute(_, ctx) {
    await ctx.step('begun', () => 0)
    return { attempt: ctx.attempt }
  },
})

/** Must not run twice. */
export const stops = tool({
  ...made,
  name: 'stops',
  execute({ n }) {
    effect(`transfer ${n}`)
    return n
  },
})

/** Must not run twice, and can reconcile with the external state. */
export const reconciled = tool({
  ...made,
  name: 'reconciled',
  execute({ n }) {
    effect(`transfer ${n}`)
    return `did ${n}`
  },
  reconcile: ({ n }) => (happened().includes(`transfer ${n}`) ? { value: `did ${n}` } : { rerun: true }),
})

/** Only one of its steps must not run twice. */
export const onceOnly = tool({
  ...made,
  name: 'once_only',
  onCrash: 'rerun',
  async execute({ n }, ctx) {
    await ctx.step('only', () => effect(`only ${n}`), { once: true })
    return n
  },
})

/** Sleeps and waits for weeks of virtual time. */
export const patient = tool({
  ...made,
  name: 'patient',
  onCrash: 'rerun',
  async execute(_, ctx) {
    const begun = await ctx.now()
    await ctx.sleep('14d')
    const answer = await ctx.later<string>({ name: 'approval' })
    const said = await answer.value
    const silence = await ctx.later({ name: 'silence', deadline: '30d' })
    const nobody = await silence.value.catch((error: Error & { code: string }) => error.code)
    await ctx.step('thank', () => effectOnce(ctx.key('thank'), `thank ${said}`))
    return { said, nobody, days: ((await ctx.now()) - begun) / 86_400_000 }
  },
})

/** Parks until it is answered. */
export const parks = tool({
  ...made,
  name: 'parks',
  onCrash: 'rerun',
  async execute(_, ctx) {
    const later = await ctx.later<string>()
    await ctx.step('send', () => effectOnce(ctx.key('send'), 'sent'))
    return later
  },
})

/** Retries once, then makes two nested calls, of which one fails. */
export const nests = tool({
  ...made,
  name: 'nests',
  onCrash: 'rerun',
  retry: { attempts: 3 },
  async execute({ n }, ctx) {
    const tries = await ctx.step('look', () => n)
    if (ctx.attempt === 1) throw retry({ after: '1h' })
    const inner = await ctx.call(stepped, { n: tries })
    const broken = await ctx.call(breaks, { n })
    return [inner.status, broken.status === 'failure' ? broken.failure.code : broken.status]
  },
})

export const breaks = tool({
  ...made,
  name: 'breaks',
  hints: { idempotent: true },
  execute() {
    throw fail('No such thing', { code: 'not_found' })
  },
})

/** Never returns; its timeout elapses in virtual time. */
export const hangs = tool({
  ...made,
  name: 'hangs',
  onCrash: 'rerun',
  timeout: '2h',
  execute: () => new Promise<string>(() => {}),
})

/** Takes real time. */
export const slow = tool({
  ...made,
  name: 'slow',
  onCrash: 'rerun',
  timeout: '1s',
  async execute(_, ctx) {
    await ctx.step('slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      effectOnce(ctx.key('slow'), 'slow')
    })
    return 'done'
  },
})
