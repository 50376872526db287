// PostgreSQL outages: the server is down, restarts, or cuts a connection between commit and answer.

import { connect, createServer, type Server as Proxy, type Socket } from 'node:net'
import { createRuntime, type Runtime, tool } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Unlucky } from '../../kit/processes/store-user-process.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'

const secret = 'the same secret for all of these tests'
let server: Server
const children: Unlucky[] = []
beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterEach(() => {
  for (const child of children.splice(0)) child.end()
})
afterAll(async () => {
  await server?.stop()
})

const url = (): string => {
  const { user, password, host, port, database } = server.connection
  return `postgres://${user}:${password}@${host}:${port}/${database}`
}
async function worker(): Promise<Unlucky> {
  const child = await Unlucky.start()
  children.push(child)
  return child
}

test(
  'DUR-6: a server that is down at open is reported clearly, and a later open succeeds',
  { timeout: 60_000 },
  async () => {
    const child = await worker()
    await server.crash()
    expect(await child.tell({ do: 'open', store: url(), secret })).toEqual({
      code: 'store_unavailable',
      message: expect.stringMatching(/PostgreSQL at 127.0.0.1:\d+ cannot be reached.*Make the store available/),
    })
    await server.start()
    expect(await child.tell({ do: 'open', store: url(), secret })).toEqual({})
    expect(await child.tell({ do: 'run', ids: ['start'] })).toMatchObject({ outcomes: [{ status: 'success' }] })
    const other = await worker()
    expect(
      await other.tell({ do: 'open', store: url(), secret: 'quite another secret, and long enough' }),
    ).toMatchObject({
      code: 'keys_mismatch',
    })
  },
)

test('DUR-6: five server restarts do not end an idle process', { timeout: 120_000 }, async () => {
  const child = await worker()
  expect(await child.tell({ do: 'open', store: url(), secret })).toEqual({})
  // Opens all pool connections, which then are idle.
  await child.tell({ do: 'run', ids: Array.from({ length: 20 }, (_, n) => `idle${n}`) })
  for (let round = 0; round < 5; round++) {
    await server.crash()
    await server.start()
  }
  expect(child.exited).toBe(null)
  await recovered(child, ['after'])
})

/** Repeats the run until the store is back; until then the error is store_unavailable. */
async function recovered(child: Unlucky, ids: readonly string[]): Promise<void> {
  const giveUp = performance.now() + 30_000
  for (;;) {
    const told = await child.tell({ do: 'run', ids })
    if (told.outcomes) return expect(told.outcomes.map(({ status }) => status)).toEqual(ids.map(() => 'success'))
    expect(told).toMatchObject({ code: 'store_unavailable' })
    expect(performance.now()).toBeLessThan(giveUp)
  }
}

test(
  'DUR-6: a server killed under load loses nothing acknowledged, and the rest continues',
  { timeout: 120_000 },
  async () => {
    const child = await worker()
    expect(await child.tell({ do: 'open', store: url(), secret })).toEqual({})
    const acknowledged: string[] = []
    const open: string[] = []
    let cut = 0
    for (let round = 0; round < 60; round++) {
      const ids = Array.from({ length: 10 }, (_, n) => `r${round}-${n}`)
      const running = child.tell({ do: 'run', ids })
      const crash = round % 20 === 10 ? server.crash() : null
      const told = await running
      if (told.outcomes) acknowledged.push(...ids)
      else {
        expect(told).toMatchObject({ code: 'store_unavailable' })
        cut++
        open.push(...ids)
      }
      if (crash) {
        await crash
        await server.start()
      }
    }
    expect(child.exited).toBe(null)
    expect(cut).toBeGreaterThan(0)
    await recovered(child, open)
    const read = await child.tell({ do: 'read', ids: acknowledged })
    expect(read.outcomes).toHaveLength(acknowledged.length)
    expect(read.outcomes?.every(({ status }) => status === 'success')).toBe(true)
    // Nothing is stuck, and each call settled once.
    expect((await child.tell({ do: 'doctor' })).findings).toEqual([])
    const admin = new pg.Client(server.connection)
    await admin.connect()
    const twice = await admin.query(
      `SELECT call FROM pawl.events WHERE type = 'call.settled' GROUP BY call HAVING count(*) > 1`,
    )
    expect(twice.rows).toEqual([])
    await admin.end()
  },
)

/** A proxy that forwards a write to the server and cuts the connection before the answer. */
class Cutter {
  cutNext = false
  cuts = 0
  readonly #proxy: Proxy
  readonly #sockets = new Set<Socket>()

  constructor(port: number) {
    this.#proxy = createServer((client) => {
      const upstream = connect(port, '127.0.0.1')
      let cut = false
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => (client.destroy(), upstream.destroy()))
      }
      client.on('data', (data) => {
        // A Bind message of the statement that writes a group.
        if (this.cutNext && data.includes('\0write\0')) {
          this.cutNext = false
          this.cuts++
          cut = true
        }
        upstream.write(data)
      })
      upstream.on('data', (data) => {
        if (cut) client.destroy()
        else client.write(data)
      })
    })
  }

  listen(): Promise<number> {
    return new Promise((resolve) =>
      this.#proxy.listen(0, '127.0.0.1', () => resolve((this.#proxy.address() as { port: number }).port)),
    )
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#proxy.close()
  }
}

test(
  'DUR-7: no change is applied twice if the connection is cut between commit and answer',
  { timeout: 60_000 },
  async () => {
    const cutter = new Cutter(server.connection.port)
    const port = await cutter.listen()
    const effects: string[] = []
    const once = tool({
      name: 'once',
      description: 'Must not run twice',
      input: { type: 'object' },
      concurrency: 'parallel',
      execute: (_, ctx) => (effects.push(ctx.callId), 'done'),
    })
    const store = await postgresStore({ connection: { ...server.connection, port }, schema: 'cut' })
    let runtime: Runtime | undefined
    try {
      runtime = await createRuntime({
        store,
        tools: [once],
        keys: { secret },
        lease: '1s',
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      })
      const session = runtime.session('s')
      await session.run([{ id: 'warm', name: 'once', input: {} }])
      let unknown = 0
      for (let n = 0; n < 20; n++) {
        cutter.cutNext = true
        const call = { id: `c${n}`, name: 'once', input: {} }
        const first = await session.run([call]).catch((error: { code: string }) => error)
        if (!Array.isArray(first)) {
          expect(first).toMatchObject({ code: 'store_unavailable' })
          unknown++
        }
        cutter.cutNext = false
        // A repeated call ends with the recorded outcome or as unknown, and never runs again.
        const giveUp = performance.now() + 20_000
        for (;;) {
          const again = await session.run([call]).catch((error: { code: string }) => error)
          if (Array.isArray(again)) {
            expect(['success', 'unknown']).toContain(again[0]?.status)
            break
          }
          expect(performance.now()).toBeLessThan(giveUp)
        }
      }
      expect(cutter.cuts).toBe(20)
      expect(unknown).toBeGreaterThan(0)
      expect(new Set(effects).size).toBe(effects.length)
      const events = await store.events({ after: 0, limit: 10_000 })
      const ended = events.filter(({ type }) => type === 'call.settled').map(({ call }) => call)
      expect(new Set(ended).size).toBe(ended.length)
      expect(ended).toHaveLength(21)
      // Commits without an answer leave neither gaps nor duplicates.
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
      expect((await runtime.health()).findings).toEqual([])
    } finally {
      await runtime?.close({ grace: 0 })
      await store.close()
      cutter.close()
    }
  },
)
