// `pawl serve`, and the commands against it: the same commands work on a server as on a local store.

import { expect, test } from 'vitest'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pawl, projectFolder, shopProject, startPawl } from '../kit/run-pawl.ts'

test('DOOR-2 WAIT-3: commands work on a server, which stops with SIGTERM', { timeout: 90_000 }, async () => {
  const cwd = shopProject()
  const server = startPawl({ cwd }, 'serve', '--port', '0', '--json')
  await server.until('loginUrl')
  const { url, token } = JSON.parse(/\{[^}]*\}/.exec(server.shown())?.[0] ?? '') as { url: string; token: string }
  // Another folder, without a store and tools of its own.
  const there = { cwd: projectFolder(), env: { PAWL_URL: url, PAWL_TOKEN: token } }
  try {
    const call = await pawl(there, 'call', 'look_up_order', '{"order":"A1"}')
    expect([call.code, JSON.parse(call.out)]).toEqual([0, { order: 'A1', cents: 4200 }])
    expect((await pawl(there, 'call', 'refund', '{"order":"A1","cents":4200}', '--key', 'r1')).code).toBe(5)
    const [item] = JSON.parse((await pawl(there, 'inbox', '--json')).out) as { id: string }[]
    expect((await pawl(there, 'approve', item?.id ?? '', '--fingerprint', 'other')).code).toBe(6)
    expect((await pawl(there, 'approve', item?.id ?? '')).code).toBe(0)
    const again = await pawl(there, 'call', 'refund', '{"order":"A1","cents":4200}', '--key', 'r1', '--json')
    expect(JSON.parse(again.out)).toMatchObject({ status: 'success', value: { refunded: 4200 } })
    const turn = await pawl(there, 'turn', 'chat-1', 'Please refund order A1')
    expect([turn.code, turn.out]).toEqual([5, 'Let me look it up.\nI will refund it.\n'])
    const tail = startPawl(there, 'tail', 'cli', '--all', '--jsonl')
    await tail.until('call.settled')
    tail.signal('SIGINT')
    expect(await tail.ended).toBe(130)
    expect((await pawl(there, 'export', 'cli')).code).toBe(0)
    expect((await pawl(there, 'health')).code).toBe(0)
    expect((await pawl(there, 'tasks', 'cli', 'none')).code).toBe(3)
    expect((await pawl(there, 'inbox', '--token', 'pawl_wrong')).code).toBe(4)
    const viewer = await pawl(there, 'tokens', 'create', 'v', '--role', 'viewer', '--json')
    const weak = (JSON.parse(viewer.out) as { token: string }).token
    expect((await pawl(there, 'tools', '--token', weak)).code).toBe(0)
    expect((await pawl(there, 'call', 'look_up_order', '{"order":"A1"}', '--token', weak)).code).toBe(4)
  } finally {
    server.signal('SIGTERM')
  }
  expect(await server.ended).toBe(0)
  expect((await pawl(there, 'inbox')).code).toBe(7)
})

test('DOOR-1 DOOR-2: serve refuses a foreign address without a token', async () => {
  const cwd = shopProject()
  const { code, err } = await pawl({ cwd }, 'serve', '--host', '0.0.0.0', '--port', '0')
  expect(code).toBe(2)
  expect(err).toContain('pawl tokens create')
})

interface Row {
  readonly name: string
  readonly value: string | null
  readonly source: string
  readonly from: string
}

test('DOOR-2: flags come before the environment, the file and the defaults', async () => {
  const cwd = projectFolder({
    'pawl.config.mjs': `export default {
      store: 'sqlite:file.db', tenant: 'from-file', server: { port: 1111 }, token: 'secret-token-of-the-file-1234' }`,
  })
  const rows = async (env: Record<string, string>, ...args: string[]): Promise<Record<string, Row>> => {
    const { out } = await pawl({ cwd, env }, 'config', '--effective', '--json', ...args)
    const { values } = JSON.parse(out) as { values: Row[] }
    return Object.fromEntries(values.map((row) => [row.name, row]))
  }
  const file = join(cwd, 'pawl.config.mjs')
  const fromFile = await rows({})
  expect(fromFile.store).toEqual({ name: 'store', value: `sqlite:${cwd}/file.db`, source: 'file', from: file })
  expect(fromFile['server.port']).toMatchObject({ value: '1111', source: 'file' })
  expect(fromFile['server.host']).toMatchObject({ value: '127.0.0.1', source: 'default' })
  expect(fromFile.token).toMatchObject({ value: '****1234' })
  const env = {
    PAWL_STORE: 'postgres://me:hunter22@db/agents',
    PAWL_TENANT: 'from-env',
    PAWL_PORT: '2222',
    PAWL_SECRET: 'x'.repeat(32),
  }
  const fromEnv = await rows(env)
  expect(fromEnv.store).toMatchObject({ value: 'postgres://me:****@db/agents', source: 'environment' })
  expect(fromEnv.tenant).toMatchObject({ value: 'from-env', from: 'PAWL_TENANT' })
  expect(fromEnv['server.port']).toMatchObject({ value: '2222', source: 'environment' })
  expect(fromEnv.keys).toMatchObject({ value: '****', from: 'PAWL_SECRET' })
  const fromFlags = await rows(env, '--store', 'memory:', '--tenant', 'from-flag', '--as', 'user:bea')
  expect(fromFlags.store).toMatchObject({ value: 'memory:', source: 'flag', from: '--store' })
  expect(fromFlags.tenant).toMatchObject({ value: 'from-flag', source: 'flag' })
  expect(fromFlags.as).toMatchObject({ value: 'user:bea', source: 'flag' })
  expect((await rows({ DATABASE_URL: 'postgres://db/other' })).store).toMatchObject({ from: 'DATABASE_URL' })
  // A store that is named closer to the command than a server is the one that is meant.
  expect((await pawl({ cwd, env: { PAWL_URL: 'http://127.0.0.1:9' } }, 'config', '--json')).out).toContain('"server"')
  const local = await pawl({ cwd, env: { PAWL_URL: 'http://127.0.0.1:9' } }, 'config', '--json', '--store', 'memory:')
  expect(local.out).toContain('"local store"')
  const everything = JSON.stringify([fromFile, fromEnv, fromFlags])
  for (const secret of ['hunter22', 'secret-token-of', 'xxxxxxxx']) expect(everything).not.toContain(secret)
})

test.for([
  [`export default { stor: 'memory:' }`, 'has no option `stor`; did you mean `store`?'],
  [`export default { server: { prot: 1 } }`, 'did you mean `port`?'],
  [`export default { token: 7 }`, '`token` is invalid'],
  [`export const config = {}`, 'has no default export'],
  [`throw new Error('boom')`, 'cannot be loaded: boom'],
  [`export default { runtime: () => 7 }`, 'returned no options'],
  [`export default { runtime: () => { throw new Error('no key') } }`, 'failed: no key'],
] as const)('DOOR-2: the configuration %s is refused', async ([text, says]) => {
  const cwd = projectFolder({ 'pawl.config.mjs': text })
  mkdirSync(join(cwd, 'below'))
  const { code, err } = await pawl({ cwd: join(cwd, 'below') }, 'tools')
  expect(code).toBe(2)
  expect(err).toContain(says)
})

test('DOOR-2: a TypeScript configuration is loaded natively', async () => {
  const cwd = projectFolder({ 'pawl.config.ts': '' })
  writeFileSync(
    join(cwd, 'pawl.config.ts'),
    `import { defineConfig, type PawlConfig } from 'pawl/config'
    const config: PawlConfig = defineConfig({ store: 'memory:', runtime: { tools: [] } })
    export default config`,
  )
  expect(await pawl({ cwd }, 'tools', '--json')).toMatchObject({ code: 0, err: '' })
})
