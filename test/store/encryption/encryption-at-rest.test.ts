// Encryption at rest: a canary goes through every field of a call and must not be found in the stored bytes.

import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, fail, type Logger, PawlError, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { hostSecret } from '../../../src/security/host-secrets.ts'
import type { Store } from '../../../src/store/store.ts'
import { mortal, storeOf } from '../../kit/stores/killable-store.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'

const canary = 'canary-7f3a9c"\\é-value'
const keys = { secret: 'k'.repeat(32) }
const quiet: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

let dir: string
let runtimes: Runtime[] = []
let folders: string[] = []
let stores: Store[] = []
let server: Server
beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterAll(async () => {
  await server?.stop()
})
const fresh = (): string => {
  dir = mkdtempSync(join(tmpdir(), 'pawl-sealed-'))
  folders.push(dir)
  return dir
}
afterEach(async () => {
  await Promise.all(runtimes.map((runtime) => runtime.close({ grace: 0 })))
  await Promise.all(stores.map((store) => store.close()))
  runtimes = []
  stores = []
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders = []
})
const open = async (options: RuntimeOptions): Promise<Runtime> => {
  const runtime = await createRuntime({ logger: quiet, keys, ...options })
  runtimes.push(runtime)
  return runtime
}

/** Encodings of a text in bytes, at any alignment. */
function formsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const json = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes])
    const inner = all.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((all.length * 8) / 6))
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })
  // Unkeyed hashes of the call and of the attachment, which would confirm a guessed content.
  const guesses = [`["fails",${JSON.stringify({ text })}]`, `text/plain\0bytes ${text}`].map((guess) =>
    hash('sha256', guess, 'base64url'),
  )
  return [text, json, 'canary-7f3a9c', bytes.toString('hex'), ...base64, ...guesses].map((form) => Buffer.from(form))
}
const hits = (bytes: Buffer): string[] =>
  formsOf(canary).flatMap((form) => (bytes.includes(form) ? [form.toString()] : []))

/** Tools that put the canary into every field of a record. */
function tools(about: { sensitive?: boolean } = {}): Tool[] {
  const common = { input: { type: 'object' }, description: 'Does.', ...about } as const
  return [
    tool({
      ...common,
      name: 'echo',
      onCrash: 'rerun',
      prepare: () => ({ payload: { prepared: canary } }),
      async execute(input, ctx) {
        const file = ctx.attachments.create(`bytes ${canary}`, { mediaType: 'text/plain', name: `${canary}.txt` })
        const step = await ctx.step('keep', { given: canary }, () => ({ kept: canary }))
        const [under] = await ctx.run([{ id: 'u', name: 'under', input: { down: canary } }])
        return { input, file, step, under, prepared: ctx.prepared }
      },
    }),
    // Not sensitive itself, but called by a sensitive tool.
    tool({
      name: 'under',
      description: 'Under.',
      input: { type: 'object' },
      hints: { readOnly: true },
      execute: (input) => ({ got: input }),
    }),
    tool({
      ...common,
      name: 'fails',
      execute: () => {
        throw fail(`no: ${canary}`, { raw: { why: canary } })
      },
    }),
    tool({
      ...common,
      name: 'breaks',
      execute: () => {
        throw new Error(`inside: ${canary}`)
      },
    }),
    tool({
      ...common,
      name: 'waits',
      execute: async (_, ctx) => {
        const later = await ctx.later({ name: 'answer' })
        told(later.key)
        return later
      },
    }),
    tool({
      ...common,
      name: 'hangs',
      execute: (_, ctx) =>
        new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('stopped')))),
    }),
  ]
}
let told: (key: string) => void

async function everything(runtime: Runtime): Promise<unknown> {
  const session = runtime.session('s')
  const key = new Promise<string>((resolve) => (told = resolve))
  const waiting = session.run([{ id: 'w', name: 'waits', input: { secret: canary } }])
  expect(await runtime.resolve(await key, { value: { answer: canary } })).toEqual({ answer: 'accepted' })
  const [answered] = await waiting
  const hanging = session.run([{ id: 'h', name: 'hangs', input: {} }])
  for await (const event of session.events()) if (event.type === 'call.started' && event.call.length > 0) break
  while ((await session.cancel(`because ${canary}`)) === 0) await new Promise(setImmediate)
  const [cancelled] = await hanging
  const rest = await session.run([
    { id: 'a', name: 'echo', input: { text: canary }, meta: { about: canary } },
    { id: 'b', name: 'echo', input: `{"text": "${canary}` },
    { id: 'f', name: 'fails', input: { text: canary } },
    { id: 'x', name: 'breaks', input: { text: canary } },
  ])
  return [answered, cancelled, ...rest].map((outcome) => {
    const { status, value, failure, cancellation } = outcome as unknown as Record<string, unknown>
    return { status, value, failure, cancellation }
  })
}

const onDisk = (): string[] =>
  readdirSync(dir)
    .filter((name) => !name.endsWith('-key'))
    .flatMap((name) => hits(readFileSync(join(dir, name))).map((form) => `${name}: ${form}`))

async function inPostgres(schema: string): Promise<string[]> {
  const client = new pg.Client(server.connection)
  await client.connect()
  try {
    const found: string[] = []
    const { rows: tables } = await client.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema])
    for (const { tablename } of tables as { tablename: string }[]) {
      const { rows } = await client.query(`SELECT * FROM ${schema}."${tablename}"`)
      for (const row of rows as Record<string, unknown>[])
        for (const [column, value] of Object.entries(row)) {
          const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value))
          found.push(...hits(bytes).map((form) => `${tablename}.${column}: ${form}`))
        }
    }
    return found
  } finally {
    await client.end()
  }
}

async function postgres(schema: string): Promise<Store> {
  const { postgresStore } = await import('pawl/postgres')
  const store = await postgresStore({ connection: server.connection, schema })
  stores.push(store)
  return store
}

describe('DUR-12: the store contains no plaintext of a call', () => {
  const sqlite = (): string => `sqlite:${join(fresh(), 'agent.db')}`

  test('the search finds the canary in a store without encryption', async () => {
    await everything(await open({ store: sqlite(), tools: tools() }))
    expect(onDisk().length).toBeGreaterThan(0)
    const schema = 'plain_rows'
    const store = await postgres(schema)
    await everything(await open({ store, tools: tools() }))
    const columns = new Set((await inPostgres(schema)).map((found) => found.split(':')[0]))
    // The canary reaches every field that must be encrypted, so its absence below is meaningful.
    for (const column of [
      'calls.input',
      'calls.options',
      'calls.args',
      'calls.outcome',
      'steps.input',
      'steps.value',
      'waits.resolution',
      'attachments.data',
      'attachments.name',
      'events.body',
      'calls.hash',
      'attachments.id',
    ])
      expect(columns).toContain(column)
    expect(columns).not.toContain('calls.trouble')
  })

  for (const [how, options] of [
    ['encrypt', { encrypt: true, tools: tools() }],
    ['sensitive tools', { tools: tools({ sensitive: true }) }],
  ] as const) {
    test(`SQLite, ${how}: the canary is neither in the file nor in the WAL, and outcomes are equal`, async () => {
      const plain = await everything(await open({ store: 'memory:', tools: tools() }))
      const sealed = await everything(await open({ store: sqlite(), ...options }))
      expect(onDisk()).toEqual([])
      expect(withoutIds(sealed)).toEqual(withoutIds(plain))
      await Promise.all(runtimes.splice(0).map((runtime) => runtime.close()))
      expect(onDisk()).toEqual([])
    })

    test(`PostgreSQL, ${how}: the canary is in no row`, async () => {
      const schema = `sealed_${how.replace(' ', '_')}`
      const store = await postgres(schema)
      await everything(await open({ store, ...options }))
      expect(await inPostgres(schema)).toEqual([])
    })
  }
})

const valueOf = (call: unknown): { file: never } => (call as { outcome: { value: { file: never } } }).outcome.value

/** Attachment ids are keyed in an encrypted store, so they differ. */
const withoutIds = (outcomes: unknown): unknown =>
  JSON.parse(
    JSON.stringify(outcomes)
      .replace(/att_[\w~-]+/g, 'att')
      .replace(/"(queued|running|waiting)Ms":\d+/g, '"$1Ms":0'),
  )

describe('DUR-12: reading encrypted data', () => {
  test('calls, feed, outputs and attachments are readable after a restart', async () => {
    const store = `sqlite:${join(fresh(), 'agent.db')}`
    await everything(await open({ store, encrypt: true, tools: tools() }))
    await runtimes.pop()?.close()
    const runtime = await open({ store, encrypt: true, tools: tools() })
    const session = runtime.session('s')
    const call = await session.calls.get('a')
    expect(call).toMatchObject({
      input: { text: canary },
      outcome: { status: 'success', value: { step: { kept: canary } } },
    })
    expect((await session.calls.get('w'))?.waits).toMatchObject([{ state: 'value' }])
    expect(await session.calls.list()).toHaveLength(7)
    const value = valueOf(call)
    expect(Buffer.from(await session.attachments.read(value.file)).toString()).toBe(`bytes ${canary}`)
    expect((await session.outputs.read(call?.uid as string)).text).toContain('canary-7f3a9c')
    const [again] = await session.run([{ id: 'a', name: 'echo', input: { text: canary } }])
    expect(again).toMatchObject({ status: 'success', attempts: 1 })
    const reasons: unknown[] = []
    for await (const event of session.events()) {
      if (event.type === 'call.cancelling') reasons.push(event.body.reason)
      if (event.type === 'call.settled' && event.call === call?.uid) {
        expect(event.outcome).toMatchObject({ value: { step: { kept: canary } } })
        break
      }
    }
    expect(reasons).toEqual([`because ${canary}`])
  })

  test('switching encryption on and off keeps call identity and conflict detection', async () => {
    const store = `sqlite:${join(fresh(), 'agent.db')}`
    const ran: unknown[] = []
    const note = tool({
      name: 'note',
      description: 'N.',
      input: { type: 'object' },
      execute: (input) => void ran.push(input),
    })
    const ask = async (id: string, input: unknown, encrypt: boolean) => {
      const runtime = await open({ store, encrypt, tools: [note] })
      const [outcome] = await runtime.session('s').run([{ id, name: 'note', input }])
      await runtime.close()
      return outcome
    }
    await ask('plain', { b: 1, a: 2 }, false)
    await ask('sealed', { b: 1, a: 2 }, true)
    expect(ran).toHaveLength(2)
    for (const id of ['plain', 'sealed'])
      for (const encrypt of [true, false]) {
        expect(await ask(id, { a: 2, b: 1 }, encrypt)).toMatchObject({ status: 'success' })
        expect(await ask(id, { a: 3, b: 1 }, encrypt)).toMatchObject({ failure: { code: 'call_conflict' } })
      }
    expect(ran).toHaveLength(2)
  })

  for (const kind of ['memory', 'sqlite'] as const) {
    test(`recovery after a crash on ${kind} uses encrypted steps and arguments`, async () => {
      const clock = manualClock()
      const store = storeOf(kind, join(fresh(), 'agent.db'), clock)
      let ran = 0
      let reached = (): void => {}
      const work = tool({
        name: 'work',
        description: 'W.',
        sensitive: true,
        input: { type: 'object' },
        onCrash: 'rerun',
        async execute(input, ctx) {
          const kept = await ctx.step('once', { given: canary }, () => ({ kept: canary, ran: ++ran }))
          if (ctx.attempt === 1) {
            reached()
            return new Promise(() => {})
          }
          return { input, kept, key: ctx.idempotencyKey }
        },
      })
      const first = mortal(store)
      const arrived = new Promise<void>((resolve) => (reached = resolve))
      const one = await createRuntime({ logger: quiet, keys, store: first.store, clock, tools: [work], lease: '1s' })
      one
        .session('s')
        .run([{ id: 'a', name: 'work', input: { canary } }])
        .catch(() => {})
      await arrived
      first.die()
      await clock.advance(2_000)
      const two = await open({ store, clock, tools: [work], lease: '1s' })
      const [outcome] = await two.session('s').run([{ id: 'a', name: 'work', input: { canary } }])
      expect(outcome).toMatchObject({
        status: 'success',
        attempts: 2,
        value: { input: { canary }, kept: { kept: canary, ran: 1 } },
      })
      await two.close()
      await store.close()
    })
  }
})

describe('DUR-12: edited or moved ciphertext', () => {
  const places = [
    ['calls', 'input'],
    ['calls', 'options'],
    ['calls', 'args'],
    ['calls', 'outcome'],
    ['steps', 'input'],
    ['steps', 'value'],
    ['waits', 'resolution'],
    ['attachments', 'name'],
    ['attachments', 'data'],
  ] as const

  test('each of 100 manipulations causes a typed error, and other calls stay readable', async () => {
    const file = join(fresh(), 'agent.db')
    const store = `sqlite:${file}`
    await everything(await open({ store, encrypt: true, tools: tools() }))
    await runtimes.pop()?.close()
    const runtime = await open({ store, encrypt: true, tools: tools() })
    const session = runtime.session('s')
    const db = new DatabaseSync(file)
    const byPlace = new Map(places.map(([table, column]) => [`${table}.${column}`, rowsOf(db, table, column)]))
    const uids = (await session.calls.list()).map(({ uid }) => uid)
    const whole = (await session.calls.get('a'))?.uid as string
    const file1 = valueOf(await session.calls.get('a')).file
    const touch = async (): Promise<unknown[]> => {
      const looks: Promise<unknown>[] = []
      for (const uid of uids) looks.push(session.calls.get({ uid }))
      looks.push(session.attachments.read(file1))
      looks.push(runtime.session('s').outputs.read(whole))
      return (await Promise.allSettled(looks)).map((look) => (look.status === 'rejected' ? look.reason : null))
    }
    let tried = 0
    for (let round = 0; tried < 100; round++) {
      for (const [table, column] of places) {
        const rows = byPlace.get(`${table}.${column}`) as Row[]
        expect(rows.length).toBeGreaterThan(0)
        const row = rows[round % rows.length] as Row
        // Edits a character or byte, truncates, replaces by plaintext, or copies from another row or field.
        const other = rows[(round + 1) % rows.length] as Row
        const elsewhere = (
          byPlace.get(table === 'attachments' && column === 'data' ? 'attachments.data' : 'calls.outcome') as Row[]
        )[0] as Row
        const bad = [
          edited(row.value, round),
          cut(row.value),
          other === row ? edited(row.value, 7) : other.value,
          elsewhere.value === row.value ? cut(row.value) : elsewhere.value,
          plainOf(row.value),
        ][round % 5] as Value
        db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${row.where}`).run(bad, ...row.at)
        const errors = (await touch()).filter((error) => error !== null)
        db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${row.where}`).run(row.value, ...row.at)
        expect(errors.length, `${table}.${column}, round ${round}`).toBeGreaterThan(0)
        for (const error of errors) expect(error).toMatchObject({ code: 'sealed_payload_broken' })
        // At most the touched call and its output or attachment fail.
        expect(errors.length).toBeLessThan(4)
        tried++
      }
    }
    expect(await touch()).toEqual(Array.from({ length: uids.length + 2 }, () => null))
    db.close()
  })

  test('the feed continues past a settled call with an unreadable outcome', async () => {
    const file = join(fresh(), 'agent.db')
    const runtime = await open({ store: `sqlite:${file}`, encrypt: true, tools: tools() })
    const session = runtime.session('s')
    for (const id of ['a', 'b']) await session.run([{ id, name: 'fails', input: {} }])
    const db = new DatabaseSync(file)
    db.exec(`UPDATE calls SET outcome = (SELECT outcome FROM calls WHERE id = 'b') WHERE id = 'a'`)
    db.close()
    const settled: unknown[] = []
    for await (const event of session.events())
      if (event.type === 'call.settled' && settled.push(event.outcome?.status) === 2) break
    expect(settled).toEqual([undefined, 'failure'])
    await expect(session.run([{ id: 'a', name: 'fails', input: {} }])).rejects.toMatchObject({
      code: 'sealed_payload_broken',
    })
    expect(await session.run([{ id: 'b', name: 'fails', input: {} }])).toMatchObject([
      { status: 'failure', attempts: 1 },
    ])
  })

  test('swapped fields of one call and malformed ciphertext are errors', async () => {
    const file = join(fresh(), 'agent.db')
    const runtime = await open({ store: `sqlite:${file}`, encrypt: true, tools: tools() })
    const session = runtime.session('s')
    await session.run([{ id: 'a', name: 'fails', input: { text: canary } }])
    const db = new DatabaseSync(file)
    for (const [column, instead] of [
      ['args', 'input'],
      ['outcome', 'args'],
      ['input', `'~1.'`],
      ['input', `'~1.AAAAAAAA.'`],
      ['input', `substr(input, 1, 12) || 'AAAA'`],
      ['outcome', `outcome || ' '`],
    ]) {
      db.exec(`CREATE TABLE before AS SELECT * FROM calls; UPDATE calls SET ${column} = ${instead}`)
      await expect(session.calls.get('a'), `${column} = ${instead}`).rejects.toMatchObject({
        code: instead === `'~1.AAAAAAAA.'` ? 'keys_mismatch' : 'sealed_payload_broken',
      })
      db.exec('DELETE FROM calls; INSERT INTO calls SELECT * FROM before; DROP TABLE before')
    }
    expect(await session.calls.get('a')).toMatchObject({ input: { text: canary } })
    db.close()
  })

  test('plaintext that starts like ciphertext is stored and read as plaintext', async () => {
    const waits = tool({ name: 'waits', description: 'W.', input: {}, execute: async (_, ctx) => ctx.later() })
    const names = tool({
      name: 'names',
      description: 'N.',
      input: {},
      execute: (_, ctx) => ctx.attachments.create('x', { mediaType: 'text/plain', name: '~1.name' }) as never,
    })
    const runtime = await open({ store: `sqlite:${join(fresh(), 'agent.db')}`, tools: [waits, names] })
    const session = runtime.session('s')
    const running = session.run([{ id: 'a', name: 'waits' }])
    for await (const event of session.events()) if (event.type === 'call.parked') break
    await session.cancel('~1.reason')
    expect(await running).toMatchObject([{ cancellation: { message: '~1.reason' } }])
    for await (const event of session.events())
      if (event.type === 'call.cancelling') {
        expect(event.body.reason).toBe('~1.reason')
        break
      }
    const [named] = await session.run([{ id: 'b', name: 'names' }])
    expect(Buffer.from(await session.attachments.read((named as never as { value: never }).value)).toString()).toBe('x')
  })

  test('a call row moved to another tenant cannot be decrypted there', async () => {
    const file = join(fresh(), 'agent.db')
    const runtime = await open({ store: `sqlite:${file}`, encrypt: true, tools: tools() })
    await runtime.session('s', { tenant: 'one' }).run([{ id: 'f', name: 'fails', input: { text: canary } }])
    const db = new DatabaseSync(file)
    db.exec(`UPDATE calls SET tenant = 'two'`)
    db.close()
    await expect(runtime.session('s', { tenant: 'two' }).calls.get('f')).rejects.toMatchObject({
      code: 'sealed_payload_broken',
    })
  })

  test('a claimed call that cannot be decrypted does not block other calls', async () => {
    const file = join(fresh(), 'agent.db')
    const keeps: string[] = []
    let hang = true
    const slow = tool({
      name: 'slow',
      description: 'S.',
      input: { type: 'object' },
      hints: { readOnly: true },
      execute: (input) => (hang ? new Promise(() => {}) : (input as never)),
    })
    const one = await open({ store: `sqlite:${file}`, encrypt: true, tools: [slow] })
    one
      .session('s')
      .run([
        { id: 'a', name: 'slow', input: { n: 1 } },
        { id: 'b', name: 'slow', input: { n: 2 } },
      ])
      .catch(() => {})
    for await (const event of one.events()) if (event.type === 'call.started' && keeps.push(event.call) === 2) break
    await one.close({ grace: 0 })
    runtimes.pop()
    const db = new DatabaseSync(file)
    db.prepare('UPDATE calls SET args = substr(args, 1, 30) WHERE id = ?').run('a')
    db.close()
    hang = false
    const logged: string[] = []
    const two = await open({
      store: `sqlite:${file}`,
      encrypt: true,
      tools: [slow],
      logger: { ...quiet, error: (message) => void logged.push(message) },
    })
    const session = two.session('s')
    const [b] = await session.run([{ id: 'b', name: 'slow', input: { n: 2 } }])
    expect(b).toMatchObject({ status: 'success', value: { n: 2 } })
    await expect(session.run([{ id: 'a', name: 'slow', input: { n: 1 } }])).rejects.toMatchObject({
      code: 'sealed_payload_broken',
    })
    expect(logged.join()).toContain('cannot be decrypted')
    // The feed continues without the unreadable parts.
    const seen: string[] = []
    for await (const event of two.events()) if (seen.push(event.type) && event.type === 'call.settled') break
    expect(seen.length).toBeGreaterThan(3)
  })
})

type Value = string | Uint8Array
interface Row {
  readonly where: string
  readonly at: string[]
  readonly value: Value
}
function rowsOf(db: DatabaseSync, table: string, column: string): Row[] {
  const named = { calls: ['uid'], steps: ['call', 'key'], waits: ['id'], attachments: ['tenant', 'id'] }[
    table
  ] as string[]
  const rows = db
    .prepare(`SELECT ${named.join(', ')}, ${column} AS value FROM ${table} WHERE ${column} IS NOT NULL ORDER BY 1, 2`)
    .all()
  const where = named.map((name) => `${name} = ?`).join(' AND ')
  return (rows as Record<string, Value>[]).map((row) => ({
    where,
    at: named.map((name) => row[name] as string),
    value: row.value as Value,
  }))
}
const edited = (value: Value, at: number): Value => {
  const index = ((at * 31) % (value.length - 40)) + 30
  if (typeof value !== 'string') return value.map((byte, n) => (n === index ? byte ^ 1 : byte))
  return `${value.slice(0, index)}${value[index] === 'A' ? 'B' : 'A'}${value.slice(index + 1)}`
}
const cut = (value: Value): Value => value.slice(0, -3)
const plainOf = (value: Value): Value =>
  typeof value === 'string' ? '{"status":"success","value":"forged"}' : new Uint8Array([1, 2, 3])

describe('DUR-12: keys', () => {
  test('a wrong secret is rejected at open; a rotated secret needs all previous ones', async () => {
    const store = `sqlite:${join(fresh(), 'agent.db')}`
    const secrets = ['one', 'two', 'three'].map((name) => name.padEnd(32, '.'))
    const [one, two, three] = secrets as [string, string, string]
    const write = async (id: string, given: RuntimeOptions['keys']) => {
      const runtime = await open({ store, encrypt: true, tools: tools(), keys: given as never })
      await runtime.session('s').run([{ id, name: 'fails', input: { text: id } }])
      await runtime.close()
    }
    const refused = (given: RuntimeOptions['keys']) =>
      expect(open({ store, tools: [], keys: given as never })).rejects.toMatchObject({ code: 'keys_mismatch' })
    await write('a', { secret: one })
    await refused({ secret: two })
    await write('b', { secret: two, previous: [one] })
    await write('c', { secret: three, previous: [two, one] })
    await refused({ secret: three })
    await refused({ secret: three, previous: [one] })
    await refused({ secret: three, previous: [two] })
    const runtime = await open({ store, tools: tools(), keys: { secret: three, previous: [one, two] } })
    for (const id of ['a', 'b', 'c'])
      expect(await runtime.session('s').calls.get(id)).toMatchObject({ input: { text: id } })
    await expect(createRuntime({ store: 'memory:', keys: { secret: one, previous: ['short'] } })).rejects.toMatchObject(
      {
        code: 'config_invalid',
      },
    )
  })

  test('WAIT-3, TIME-5: a call open during rotation keeps its wait keys and derived values', async () => {
    const clock = manualClock()
    const store = storeOf('memory', '', clock)
    const [one, two] = ['one'.padEnd(32, '.'), 'two'.padEnd(32, '.')]
    const seen: unknown[] = []
    let go = (): void => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const asks = tool({
      name: 'asks',
      description: 'A.',
      input: { type: 'object' },
      onCrash: 'rerun',
      async execute(_, ctx) {
        const later = await ctx.later<number>({ name: 'n' })
        seen.push([later.key, ctx.idempotencyKey, ctx.uuid()])
        go()
        return later.value
      },
    })
    const first = mortal(store)
    const before = await createRuntime({
      logger: quiet,
      store: first.store,
      clock,
      tools: [asks],
      keys: { secret: one },
      lease: '1s',
    })
    before
      .session('s')
      .run([{ id: 'a', name: 'asks' }])
      .catch(() => {})
    await gone
    first.die()
    await clock.advance(2_000)
    const after = await open({ store, clock, tools: [asks], keys: { secret: two, previous: [one] }, lease: '1s' })
    const joined = after.session('s').run([{ id: 'a', name: 'asks' }])
    for (let looks = 0; seen.length < 2 && looks < 1_000; looks++) await new Promise(setImmediate)
    expect(seen[1]).toEqual(seen[0])
    expect(await after.resolve((seen[0] as string[])[0] as string, { value: 7 })).toEqual({ answer: 'accepted' })
    expect(await joined).toMatchObject([{ status: 'success', value: 7 }])
    // A new call uses the new secret and records its id.
    after
      .session('s')
      .run([{ id: 'b', name: 'asks' }])
      .catch(() => {})
    for (let looks = 0; seen.length < 3 && looks < 1_000; looks++) await new Promise(setImmediate)
    const options = (await store.callAt({ tenant: 'default', session: 's', batch: '', id: 'b', occurrence: 0 }))
      ?.options
    expect(JSON.parse(options as string)).toEqual({ secret: hostSecret(Buffer.from(two)).id })
    await after.close({ grace: 0 })
    await store.close()
  })

  test('`encrypt` and `sensitive` accept only booleans', async () => {
    await expect(createRuntime({ store: 'memory:', encrypt: 'yes' as never })).rejects.toBeInstanceOf(PawlError)
    expect(() => tool({ name: 'x', description: 'X.', input: {}, sensitive: 1 as never, execute: () => 1 })).toThrow(
      /sensitive/,
    )
  })
})
