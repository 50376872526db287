// Broken connections are reported as store_unavailable and do not end the process.

import { connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'

let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

test('CALL-2: a reset connection during a claim and a lost server cause store_unavailable', async () => {
  const { host, port } = server.connection
  const sockets = new Set<Socket>()
  const proxy = createServer((socket) => {
    const behind = connect(port, host)
    for (const each of [socket, behind]) {
      sockets.add(each)
      each.on('error', () => {})
      each.on('close', () => sockets.delete(each))
    }
    socket.pipe(behind).pipe(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port: through } = proxy.address() as { port: number }
  const store = await postgresStore({ connection: { ...server.connection, port: through }, schema: 'away' })
  const other = new pg.Client({ ...server.connection, options: '-c search_path=away' })
  await other.connect()
  const unavailable = { code: 'store_unavailable' }
  try {
    await store.renew('w', 1_000)
    // The claim waits for this lock when its connection breaks.
    await other.query('BEGIN; LOCK TABLE calls IN ACCESS EXCLUSIVE MODE')
    const claim = Promise.resolve(store.claim('w', ['t'], 1))
    claim.catch(() => {})
    for (;;) {
      await other.query('SELECT pg_stat_clear_snapshot()') // within a transaction, pg_stat views would return a cached
      // snapshot
      const { rows } = await other.query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '(SELECT uid%'`,
      )
      if (rows.length > 0) break
    }
    for (const socket of sockets) socket.resetAndDestroy()
    await expect(claim).rejects.toMatchObject(unavailable)
    await other.query('ROLLBACK')
    expect(await store.claim('w', ['t'], 1)).toEqual([])
    await new Promise<void>((resolve) => {
      proxy.close(() => resolve())
      for (const socket of sockets) socket.resetAndDestroy()
    })
    for (const asked of [
      () => store.call('x'),
      () => store.renew('w', 1_000),
      () => store.claim('w', ['t'], 1),
      () => store.setting('a', 'b'),
    ])
      await expect((async () => asked())()).rejects.toMatchObject(unavailable)
  } finally {
    await other.end()
    await store.close().catch(() => {})
    proxy.close()
  }
})
