// A server with the console on a SQLite store, for tests in a browser.

import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRuntime, type Model, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { type RunningServer, startServer } from 'pawl/server'
import { quiet } from '../stores/fresh-store.ts'
import { oncePerRun } from './once-per-run.ts'

const root = join(import.meta.dirname, '../../..')

/** Builds the console into a folder of its own, because other tests remove `dist`. */
export const buildConsole = (): Promise<string> =>
  oncePerRun('built-console', async (folder) => {
    const script = join(root, 'scripts/build-console.mjs')
    await promisify(execFile)(process.execPath, [script, '--into', folder], { cwd: root })
  })

export const adminToken = 'console-admin-token-0123456789'
export const viewerToken = 'console-viewer-token-0123456789'
export const beaToken = 'console-bea-token-0123456789'

export interface ConsoleAppOptions {
  /** The folder of the built console. */
  readonly console: string
  readonly tools: readonly Tool[]
  readonly store?: string
  readonly port?: number
  /** The token of the admin is for all tenants. Default: false. */
  readonly allTenants?: boolean
  readonly runtime?: Partial<RuntimeOptions>
}

export interface ConsoleApp {
  readonly url: string
  readonly port: number
  readonly store: string
  readonly runtime: Runtime
  readonly server: RunningServer
  close(): Promise<void>
}

export const newStore = (): string => `sqlite:${join(mkdtempSync(join(tmpdir(), 'console-store-')), 'a.db')}`

export async function openConsoleApp(options: ConsoleAppOptions): Promise<ConsoleApp> {
  const file = options.store ?? newStore()
  const runtime = await createRuntime({ store: file, tools: [...options.tools], logger: quiet, ...options.runtime })
  const models = options.runtime?.models
  const person = (token: string, principal: string, roles: readonly ['admin'] | readonly ['viewer']) => ({
    token,
    principal,
    roles,
    tenant: options.allTenants && token === adminToken ? null : 'default',
  })
  const server = await startServer({
    runtime,
    port: options.port ?? 0,
    grace: '1s',
    ...(models ? { turn: { model: models[0] as Model } } : {}),
    heartbeat: '1s',
    console: options.console,
    tokens: [
      person(adminToken, 'user:ada', ['admin']),
      person(beaToken, 'user:bea', ['admin']),
      person(viewerToken, 'user:viewer', ['viewer']),
    ],
  })
  const { url } = server
  return { url, port: Number(new URL(url).port), store: file, runtime, server, close: () => server.close() }
}
