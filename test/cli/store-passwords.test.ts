// The password of a store or server is in no output of a command. A server without a worker and a separate worker share
// the store here.

import { expect, test } from 'vitest'
import { pawl, shopProject, startPawl } from '../kit/run-pawl.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'

const postgres = serverForFile()

test('DOOR-2: serve and worker on PostgreSQL do not print its password', { timeout: 90_000 }, async () => {
  const cwd = shopProject()
  const { host, port, user, password, database } = postgres.connection
  const store = `postgres://${user}:${password}@${host}:${port}/${database}`
  const env = { PAWL_STORE: store, PAWL_SECRET: 'a secret of 32 characters for the keys' }
  const server = startPawl({ cwd, env }, 'serve', '--port', '0', '--no-worker')
  const worker = startPawl({ cwd, env }, 'worker')
  try {
    await server.until('Ctrl-C stops it')
    await worker.until('Ctrl-C stops it')
    const [url = ''] = /http:\/\/127\S+(?=\n)/.exec(server.shown()) ?? []
    const [token = ''] = /pawl_[\w-]{43}/.exec(server.shown()) ?? []
    const there = { cwd, env: { PAWL_URL: url, PAWL_TOKEN: token } }
    expect(JSON.parse((await pawl(there, 'call', 'look_up_order', '{"order":"A1"}')).out)).toMatchObject({
      cents: 4200,
    })
    const shown = server.shown() + worker.shown()
    expect(shown).toContain(`postgres://${user}:****@`)
    expect(shown).not.toContain(password)
  } finally {
    server.signal('SIGTERM')
    worker.signal('SIGTERM')
  }
  expect(await Promise.all([server.ended, worker.ended])).toEqual([0, 0])
})

test.for([
  ['--store', 'postgres://bob:hunter2secret@127.0.0.1:1/db'],
  ['--store', 'postgres://bob:hunter2secret@127.0.0.1:1/db?sslmode=bogus'],
  ['--store', 'postgres://bob:hunter2secret@:bad:port/db'],
  ['--store', 'postgres://:bad:port/db?password=hunter2secret'],
  ['--store', 'mysql://bob:hunter2secret@127.0.0.1/db'],
  ['--url', 'http://bob:hunter2secret@127.0.0.1:1'],
  ['--url', 'ftp://bob:hunter2secret@127.0.0.1:1'],
] as const)('DOOR-2: no command prints the password of %s %s', { timeout: 60_000 }, async ([flag, address]) => {
  const cwd = shopProject()
  const env = { PAWL_SECRET: 'a secret of 32 characters for the keys' }
  for (const command of [['inbox'], ['config'], ['config', '--effective', '--json'], ['migrate'], ['call', 'refund']]) {
    const { out, err } = await pawl({ cwd, env }, ...command, flag, address)
    expect(out + err, command.join(' ')).not.toContain('hunter2secret')
  }
})
