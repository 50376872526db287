// Starts a restate-server on loopback with free ports, without telemetry, and otherwise with its defaults.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export interface RestateServer {
  readonly pid: number
  readonly ingress: string
  readonly admin: string
}

export async function startRestate(dir: string): Promise<RestateServer> {
  const [node, ingress, admin] = (await freePorts(3)).map((port) => `127.0.0.1:${port}`) as [string, string, string]
  const log = openSync(join(dir, 'server.log'), 'a')
  // The binary itself: if its npm wrapper is killed, the binary keeps running.
  const wrapper = createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json')
  const binary = createRequire(wrapper).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  )
  const server = spawn(binary, ['--base-dir', join(dir, 'data'), '--no-logo'], {
    stdio: ['ignore', log, log],
    env: {
      ...process.env,
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_NODE_NAME: 'bench',
      RESTATE_BIND_ADDRESS: node,
      RESTATE_ADVERTISED_ADDRESS: `http://${node}/`,
      RESTATE_INGRESS__BIND_ADDRESS: ingress,
      RESTATE_INGRESS__ADVERTISED_ADDRESS: `http://${ingress}/`,
      RESTATE_ADMIN__BIND_ADDRESS: admin,
      RESTATE_ADMIN__ADVERTISED_ADDRESS: `http://${admin}/`,
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
  })
  process.on('exit', () => server.kill('SIGKILL'))
  await once(server, 'spawn')
  const until = Date.now() + 30_000
  while (!(await healthy(`http://${admin}/health`)) || !(await healthy(`http://${ingress}/restate/health`))) {
    if (server.exitCode !== null || Date.now() > until)
      throw new Error(`restate-server is not healthy; its log: ${join(dir, 'server.log')}`)
    await pause(50)
  }
  return { pid: server.pid as number, ingress: `http://${ingress}`, admin: `http://${admin}` }
}

const healthy = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.ok,
    () => false,
  )

async function freePorts(count: number): Promise<number[]> {
  // All ports are open at the same time, so that they are distinct.
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
