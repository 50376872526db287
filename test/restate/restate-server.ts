// SPIKE: processes for the test: a real restate-server on free loopback ports, and children whose output is shown if a
// test fails.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Polls until the function returns a value. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  ms = 15_000,
): Promise<T> {
  const patience = Date.now() + ms
  for (;;) {
    const found = await ask()
    if (found !== undefined && found !== false) return found
    if (Date.now() > patience) throw new Error(`Waited ${ms} ms in vain: ${what}`)
    await pause(20)
  }
}

export async function freePorts(count: number): Promise<number[]> {
  // All ports are bound at the same time, so that they are distinct.
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

export class Child {
  readonly process: ChildProcess
  output = ''

  constructor(command: string, args: readonly string[], env: Record<string, string>) {
    this.process = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    const keep = (chunk: Buffer): void => void (this.output += chunk.toString())
    this.process.stdout?.on('data', keep)
    this.process.stderr?.on('data', keep)
    this.process.on('error', (error) => keep(Buffer.from(String(error))))
  }

  get gone(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null || this.process.pid === undefined
  }

  async kill(): Promise<void> {
    if (this.gone) return
    const exit = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await exit
  }
}

/** The binary itself: killing its npm wrapper would leave the server running as an orphan. */
const binary = (): string => {
  const wrapper = createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json')
  return createRequire(wrapper).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  )
}

export interface RestateServer {
  readonly child: Child
  readonly ingress: string
  readonly admin: string
}

/** Spawns the server without waiting for its health, so that a test can kill it early. */
export function startRestate(baseDir: string, ports: readonly number[]): RestateServer {
  const [node, ingress, admin] = ports.map((port) => `127.0.0.1:${port}`) as [string, string, string]
  const child = new Child(binary(), ['--base-dir', baseDir, '--no-logo'], {
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_ADDRESS: node,
    RESTATE_ADVERTISED_ADDRESS: `http://${node}/`,
    RESTATE_INGRESS__BIND_ADDRESS: ingress,
    RESTATE_INGRESS__ADVERTISED_ADDRESS: `http://${ingress}/`,
    RESTATE_ADMIN__BIND_ADDRESS: admin,
    RESTATE_ADMIN__ADVERTISED_ADDRESS: `http://${admin}/`,
    // Waiting invocations are suspended after this time, so that the tests cover suspension.
    RESTATE_WORKER__INVOKER__INACTIVITY_TIMEOUT: '400ms',
    RESTATE_NODE_NAME: 'spike',
    RESTATE_DEFAULT_NUM_PARTITIONS: '1',
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256MiB',
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_DISABLE_ANSI_CODES: 'true',
  })
  return { child, ingress: `http://${ingress}`, admin: `http://${admin}` }
}

export async function ready({ child, ingress, admin }: RestateServer): Promise<void> {
  const both = async (): Promise<boolean> => {
    if (child.gone) throw new Error(`restate-server ended:\n${child.output}`)
    return (await healthy(`${admin}/health`)) && (await healthy(`${ingress}/restate/health`))
  }
  await until('restate-server is healthy', both, 30_000).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${child.output}`, { cause: error })
  })
}

const healthy = (url: string): Promise<boolean> =>
  fetch(url).then(
    (response) => response.ok,
    () => false,
  )

export async function register(server: RestateServer, port: number): Promise<void> {
  const body = JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true })
  const response = await fetch(`${server.admin}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  if (!response.ok) throw new Error(`Registering failed: ${response.status} ${await response.text()}`)
}

/** Queries the tables of the admin API. */
export async function query(server: RestateServer, sql: string): Promise<Record<string, unknown>[]> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const response = await fetch(`${server.admin}/query`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query: sql }),
  })
  if (!response.ok) throw new Error(`The query failed: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { rows: Record<string, unknown>[] }).rows
}
