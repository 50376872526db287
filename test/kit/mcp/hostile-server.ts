// A stdio MCP server whose behaviour a test writes into a file, and may change while the server runs. It speaks the
// protocol without an SDK, so that it can break every rule. Each call that takes effect is a line in its log.

import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { McpServerConfig } from 'pawl/mcp'
import type { HostileScript } from './child-hostile-server.ts'

export type { HostileScript } from './child-hostile-server.ts'

export class HostileServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'pawl-mcp-'))
  readonly #script = join(this.folder, 'script.json')
  readonly #log = join(this.folder, 'log')

  constructor(script: HostileScript) {
    this.become(script)
    appendFileSync(this.#log, '')
  }

  /** Changes the script. A running server announces that its tools have changed. */
  become(script: HostileScript): void {
    const draft = `${this.#script}.new`
    writeFileSync(draft, JSON.stringify(script))
    renameSync(draft, this.#script)
  }

  config(more: McpServerConfig = {}): McpServerConfig {
    const file = join(import.meta.dirname, 'child-hostile-server.ts')
    return { command: process.execPath, args: [file, this.#script, this.#log], ...more }
  }

  get log(): readonly string[] {
    return readFileSync(this.#log, 'utf8').split('\n').filter(Boolean)
  }

  /** The calls that took effect, as `<tool> <arguments>`. */
  get effects(): readonly string[] {
    return this.log.filter((line) => line.startsWith('effect ')).map((line) => line.slice('effect '.length))
  }

  /** Ids of all processes that the server was started as, the last one last. */
  get pids(): readonly number[] {
    return this.log.filter((line) => line.startsWith('started ')).map((line) => Number(line.slice('started '.length)))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
