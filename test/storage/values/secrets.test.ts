// Session secrets: always encrypted at rest, available to tool bodies only, and redacted everywhere else.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import {
  createRuntime,
  type FeedEvent,
  fail,
  type LiveEvent,
  PawlError,
  type Runtime,
  tool,
  type Tool,
  type ToolContext,
} from 'pawl'
import { manualClock, scriptedModel } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { toolbox } from '../../../src/toolbox/toolbox.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { type Bench, onEachStore } from '../../kit/stores/local-stores.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { renewOnce } from '../../kit/stores/killable-store.ts'

const value = 'sk-live-"Zq8\\é/9+x=1'
/** The encodings of the value; long enough to be unambiguous. */
const forms = [
  value,
  JSON.stringify(value).slice(1, -1),
  JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1),
  Buffer.from(value).toString('base64'),
  Buffer.from(value).toString('hex'),
  encodeURIComponent(value),
]
const hits = (shown: unknown): string[] => {
  const text =
    typeof shown === 'string'
      ? shown
      : `${JSON.stringify(shown)} ${inspect(shown, { depth: 20, maxStringLength: null })}`
  return forms.filter((form) => text.includes(form.slice(3, 18)))
}
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof PawlError ? error.code : String(error)),
  )
const input = { type: 'object' } as const
const body = (execute: (ctx: ToolContext, given: never) => unknown, name = 'works'): Tool =>
  tool({ name, description: 'Works.', input, onCrash: 'rerun', execute: (given, ctx) => execute(ctx, given as never) })

async function fed(runtime: Runtime): Promise<(FeedEvent | LiveEvent)[]> {
  const events: (FeedEvent | LiveEvent)[] = []
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 100)
  for await (const event of runtime.events({ live: true, signal: stop.signal })) events.push(event)
  return events
}

onEachStore('BOX-5, CALL-9: secrets', (bench: Bench) => {
  test('the host sets, deletes and lists secrets but cannot read them', async () => {
    const runtime = await bench.open([])
    const { secrets } = runtime.session('a')
    const set = await secrets.set('shop.api-key', value, { tools: ['pay'] })
    expect(set).toEqual({ name: 'shop.api-key', setAt: expect.any(Number) as number, by: 'host', tools: ['pay'] })
    expect(await secrets.list()).toEqual([set])
    expect([await secrets.has('shop.api-key'), await secrets.has('other')]).toEqual([true, false])
    expect(Object.keys(secrets).toSorted()).toEqual(['delete', 'has', 'list', 'set'])
    expect(hits(await secrets.list())).toEqual([])
    expect(await runtime.session('b').secrets.list()).toEqual([])
    expect(await runtime.session('a', { tenant: 'other' }).secrets.has('shop.api-key')).toBe(false)
    expect(await secrets.delete('shop.api-key')).toBe(true)
    expect(await secrets.delete('shop.api-key')).toBe(false)
  })

  test('names and values are limited, and reserved names are rejected', async () => {
    const { secrets } = (await bench.open([])).session('a')
    for (const name of ['', ' ', '_x', '__proto__', '.x', 'a b', 'a/b', 'ä', 'x'.repeat(129), 1 as never])
      expect(await codeOf(secrets.set(name, value))).toBe('secret_name_invalid')
    for (const name of ['pawl', 'PAWL', 'pawl.x', 'Pawl_x', 'pawl-x'])
      expect(await codeOf(secrets.set(name, value))).toBe('secret_reserved')
    for (const bad of ['', 'x'.repeat(16_385), '\ud800', 1 as never, undefined as never])
      expect(await codeOf(secrets.set('x', bad))).toBe('secret_invalid')
    expect(await codeOf(secrets.set('x', value, { tools: 'all' as never }))).toBe('config_invalid')
    for (let n = 0; n < 200; n++) await secrets.set(`s${n}`, 'x')
    expect(await codeOf(secrets.set('more', 'x'))).toBe('secrets_full')
    await secrets.set('s0', 'y')
    await secrets.delete('s0')
    await secrets.set('constructor', 'x')
  })

  test('a body reads a secret by name or reference unless its tool is not allowed', async () => {
    const seen: unknown[] = []
    const pays = tool({
      name: 'pay',
      description: 'Pays.',
      input: { type: 'object', properties: { token: { type: 'string' } } },
      async execute(given, ctx) {
        seen.push(await ctx.secrets.get('key'), await ctx.secrets.resolve(given.token))
        return { ok: true, leaked: seen[0] as string, url: `https://x.test/?k=${encodeURIComponent(value)}` }
      },
    })
    const others = body(
      async (ctx, { token }: { token: unknown }) => [await ctx.secrets.get('key'), await ctx.secrets.resolve(token)],
      'other',
    )
    const runtime = await bench.open([pays, others])
    const session = runtime.session('a')
    await session.secrets.set('key', value, { tools: ['pay'] })
    await session.secrets.set('open', 'open-secret-value')
    const [paid] = await session.run([{ id: '1', name: 'pay', input: { token: 'secret:key' } }])
    expect(seen).toEqual([value, value])
    // Redacted in the record and in the outcome that code gets.
    expect(paid).toMatchObject({ status: 'success', value: { ok: true, leaked: '[redacted]' } })
    expect(hits(paid)).toEqual([])
    const refused = await session.run(
      ['secret:key', 'secret:none', 'secret:', 'secret:a b', 'secret:pawl.x', value, '', 7, { $secret: 'key' }].map(
        (token, n) => ({
          id: `r${n}`,
          name: 'other',
          input: { token },
        }),
      ),
    )
    expect(refused.map((each) => (each.status === 'failure' ? each.failure.code : each.status))).toEqual([
      'secret_unknown',
      'secret_unknown',
      'secret_unknown',
      'secret_unknown',
      'secret_unknown',
      'secret_reference',
      'secret_reference',
      'secret_reference',
      'secret_reference',
    ])
    expect(refused[0]).toMatchObject({ failure: { message: "There is no secret 'key' for this tool." } })
    expect(await session.run([{ id: 'o', name: 'other', input: { token: 'secret:open' } }])).toMatchObject([
      { value: [null, '[redacted]'] },
    ])
  })

  test('a body cannot change a secret of the host', async () => {
    const works = body(async ({ secrets }) => [
      await codeOf(secrets.set('host', 'of the body')),
      await codeOf(secrets.delete('host')),
      await codeOf(secrets.set('own', 'of the body')),
      await codeOf(secrets.set('own', 'of the body again')),
      await secrets.get('own'),
      (await secrets.list()).map(({ name, by }) => `${name} ${by}`),
    ])
    const session = (await bench.open([works])).session('a')
    await session.secrets.set('host', value)
    expect(await session.run([{ id: '1', name: 'works' }])).toMatchObject([
      { value: ['secret_reserved', 'secret_reserved', 'done', 'done', '[redacted]', ['host host', 'own body']] },
    ])
    // The host may replace a secret of a body.
    await session.secrets.set('own', value)
    const [again] = await session.run([{ id: '2', name: 'works' }])
    expect((again as { value: unknown[] }).value.slice(2, 4)).toEqual(['secret_reserved', 'secret_reserved'])
  })

  test('DUR-12: a secret is redacted in outcomes, progress, output, logs, feed and diagnostics', async () => {
    const leaks: Record<string, (ctx: ToolContext, secret: string) => unknown> = {
      value: (_, secret) => ({ [secret]: [secret, Buffer.from(secret).toString('base64')] }),
      fails: (_, secret) => {
        throw fail(`no ${secret}`, { raw: { secret } })
      },
      throws: (_, secret) => {
        throw new Error(`401 ${encodeURIComponent(secret)}`, { cause: new Error(secret) })
      },
      steps: (ctx, secret) =>
        ctx.step('s', () => {
          throw new Error(secret)
        }),
      nests: (ctx, secret) => ctx.run([{ id: 'n', name: 'under', input: { secret } }]),
      tells: async (ctx, secret) => {
        ctx.log.error(`log ${secret}`, { secret, error: new Error(secret) })
        ctx.progress({ label: secret })
        for (const piece of [secret.slice(0, 9), secret.slice(9)]) ctx.output(piece)
      },
    }
    const works = body(async (ctx, { what }: { what: string }) =>
      leaks[what]?.(ctx, (await ctx.secrets.get('key')) as string),
    )
    const under = body((_, given) => given, 'under')
    const runtime = await bench.open([works, under])
    const session = runtime.session('a')
    await session.secrets.set('key', value)
    const events = fed(runtime)
    const outcomes = await session.run(Object.keys(leaks).map((what) => ({ id: what, name: 'works', input: { what } })))
    for (const [n, each] of outcomes.entries())
      expect([Object.keys(leaks)[n], ...hits(each)]).toEqual([Object.keys(leaks)[n]])
    expect(hits(await events)).toEqual([])
    expect(hits(bench.logged)).toEqual([])
    for (const { uid } of await session.calls.list()) expect(hits(await runtime.diagnostics(uid))).toEqual([])
  })

  test('erase removes the secrets of a session', async () => {
    const runtime = await bench.open([])
    await runtime.session('a').secrets.set('key', value)
    await runtime.erase({ session: 'a' })
    expect(await runtime.session('a').secrets.list()).toEqual([])
  })
})

describe('DUR-12, BOX-5: secrets at rest', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-secrets-'))
  })
  afterEach(() => rmSync(dir, { recursive: true, force: true }))
  const onDisk = (): string[] =>
    readdirSync(dir)
      .filter((name) => !name.endsWith('-key'))
      .flatMap((name) =>
        hits(readFileSync(join(dir, name)).toString('latin1') + readFileSync(join(dir, name)).toString('utf8')),
      )
  const open = (tools: readonly Tool[], encrypt: boolean, more = {}): Promise<Runtime> =>
    createRuntime({ store: `sqlite:${join(dir, 'a.db')}`, tools, encrypt, logger: quiet, ...more })

  test.for([false, true])(
    'encrypt: %s: a secret is not on disk in plaintext and survives a restart',
    async (encrypt) => {
      const got: unknown[] = []
      const works = body(async ({ secrets }) => {
        await secrets.set('own', value)
        got.push(await secrets.get('key'), await secrets.get('own'))
        return got
      })
      const first = await open([works], encrypt)
      await first.session('a').secrets.set('key', value)
      await first.session('a').run([{ id: '1', name: 'works' }])
      await first.close()
      expect(onDisk()).toEqual([])
      const second = await open([works], !encrypt)
      await second.session('a').run([{ id: '2', name: 'works' }])
      expect(got).toEqual([value, value, value, value])
      await second.close()
      expect(onDisk()).toEqual([])
    },
  )

  test('a secret set in a turn is hidden on disk, in feed and inbox; the model gets a reference', async () => {
    const used: string[] = []
    const pays = tool({
      name: 'pay',
      description: 'Pays.',
      input: { type: 'object', properties: { token: { type: 'string' } }, required: ['token'] },
      hints: { idempotent: true },
      async execute({ token }, ctx) {
        used.push(await ctx.secrets.resolve(token))
        return `paid with ${used.at(-1)}`
      },
    })
    const model = scriptedModel([
      { call: { name: 'secret_store', input: { operation: 'set', name: 'key', value } } },
      { call: { name: 'pay', input: { token: 'secret:key' } } },
      { say: 'Done.' },
    ])
    const logged: unknown[] = []
    const log = (...given: unknown[]): void => void logged.push(given)
    const logger = { debug: log, info: log, warn: log, error: log }
    const policy = { rules: [{ tool: 'secret_store', then: 'ask' as const }, { then: 'allow' as const }] }
    const runtime = await open([pays, ...toolbox.secrets()], false, { models: [model], policy, logger })
    const session = runtime.session('a')
    const events = fed(runtime)
    const turn = session.turn({ model: model.name, message: 'Pay.' })
    await vi.waitUntil(async () => (await runtime.inbox()).length === 1)
    const [item] = await runtime.inbox()
    expect(item).toMatchObject({
      args: { operation: 'set', name: 'key', value: '[hidden]' },
      preview: { summary: "Secrets: set 'key'" },
    })
    expect(hits(item)).toEqual([])
    await runtime.decide(item?.id as string, { approve: true, by: 'user:bea' })
    expect(await turn.outcome).toMatchObject({ status: 'success', value: { text: 'Done.' } })
    expect(used).toEqual([value])
    expect(hits(await events)).toEqual([])
    expect(hits(logged)).toEqual([])
    // The model's own call is redacted in later requests.
    expect(hits(model.requests)).toEqual([])
    expect(JSON.stringify(model.requests.at(-1))).toContain('[hidden]')
    expect(hits(await session.messages.list())).toEqual([])
    const results = (await session.messages.list()).filter(({ message }) => message.role === 'tool')
    expect(results).toHaveLength(2)
    expect(hits(results)).toEqual([])
    expect(JSON.stringify(results)).toContain('secret:key')
    await runtime.close()
    expect(onDisk()).toEqual([])
    // A process that never loaded the secret shows none of it either.
    const after = await open([pays, ...toolbox.secrets()], false, { models: [model], policy, logger })
    expect(hits(await fed(after))).toEqual([])
    expect(hits(await after.session('a').messages.list())).toEqual([])
    await after.close()
  })
})

test('CALL-9: a worker that lost its lease cannot set a secret', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  let runs = 0
  let said = ''
  const make = (dead: boolean): Tool =>
    body(async ({ secrets }) => {
      runs++
      if (!dead) return secrets.set('key', 'of the living')
      await vi.waitUntil(() => runs === 2, { interval: 1 })
      said = await codeOf(secrets.set('key', 'of the dead'))
      return 'dead'
    })
  const a = await createRuntime({ store: renewOnce(store), tools: [make(true)], clock, logger: quiet })
  void a
    .session('s')
    .run([{ id: '1', name: 'works' }])
    .catch(() => {})
  await vi.waitUntil(() => runs === 1, { interval: 1 })
  const b = await createRuntime({ store, tools: [make(false)], clock, logger: quiet })
  await clock.advance('31s')
  await clock.advance('2s')
  await vi.waitUntil(() => said !== '', { interval: 1 })
  expect(said).toBe('lease_lost')
  expect(await b.session('s').secrets.list()).toMatchObject([{ name: 'key', by: 'body' }])
  await a.close({ grace: 0 }).catch(() => {})
  await b.close({ grace: 0 })
})
