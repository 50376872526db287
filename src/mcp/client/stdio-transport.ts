// A stdio server as a transport of the MCP SDK. The child leads its own process group, which ends as a whole when the
// connection closes, and when this process dies, even by SIGKILL (toolbox/processes). For POSIX systems.
//
// The SDK has a transport for this too. It starts the child in our own process group, inherits stderr, and starts a
// second child to find out the protocol version.

import { spawn, type ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { systemClock } from '../../core/clock.ts'
import { PawlError } from '../../core/errors.ts'
import { findProgram, standardPath } from '../../toolbox/processes/find-program.ts'
import { prepareLaunch } from '../../toolbox/processes/launch-environment.ts'
import { newRunId, processStartTicks, runVariable } from '../../toolbox/processes/process-marks.ts'
import { watchTree } from '../../toolbox/processes/process-watcher.ts'
import { killProcessTree, launcherScript } from '../../toolbox/processes/run-process.ts'
import { MessageMeter } from './message-meter.ts'
import type { StdioTarget } from './server-config.ts'
import type { StderrTail } from './stderr-tail.ts'

/** How long a server may take to end after its input has closed, and again after SIGTERM. */
const graceMs = 2_000
/** How long the output of a server is read after its end. */
const lastOutputMs = 1_000
/** Messages handled before other events of this process get their turn. */
const messagesPerTurn = 16
/** A server that does not read its input must not fill our memory. */
const maxUnwrittenBytes = 32 * 1024 * 1024

const newline = 0x0a

export class StdioTransport implements Transport {
  // The SDK recognizes a stdio transport by these two properties; then a server that does not answer its first request
  // counts as one of an older revision.
  readonly stderr = null
  pid: number | null = null
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** How the child ended; null while it runs. */
  ended: string | null = null
  readonly #target: StdioTarget
  readonly #tail: StderrTail
  readonly #run = newRunId()
  readonly #meter = new MessageMeter('line')
  #child: ChildProcess | null = null
  #since: number | undefined
  /** The beginning of a line whose end has not arrived. */
  #partial: Buffer[] = []
  #lines: Buffer[] = []
  #draining = false
  #closing: Promise<void> | null = null
  #closed = false

  constructor(target: StdioTarget, tail: StderrTail) {
    this.#target = target
    this.#tail = tail
  }

  async start(): Promise<void> {
    const { command, args, cwd } = this.#target
    if (process.platform === 'win32')
      throw new PawlError('program_unavailable', 'MCP servers with `command` need a POSIX system. Use one with `url`.')
    const env = { PATH: standardPath, ...this.#target.env, [runVariable]: this.#run }
    const program = await findProgram(command, env.PATH, cwd)
    const launch = await prepareLaunch(program, args, env)
    const child = spawn('/bin/sh', ['-c', launcherScript(this.#run), 'sh', ...launch.command], {
      cwd,
      env: launch.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    })
    this.#child = child
    for (const stream of child.stdio) stream?.on('error', () => {})
    const { pid } = child
    if (pid === undefined) {
      const cause = await new Promise<Error>((resolve) => child.once('error', resolve))
      throw new PawlError('program_unavailable', `${JSON.stringify(command)}: ${cause.message}.`, { cause })
    }
    this.pid = pid
    this.#since = processStartTicks(pid)
    child.on('error', () => {})
    child.stderr?.on('data', (chunk: Buffer) => this.#tail.push(chunk))
    child.stdout?.on('data', (chunk: Buffer) => this.#received(chunk))
    child.once('exit', (code, signal) => {
      this.ended = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
      // A process that the server started may keep its output open.
      systemClock.timer(lastOutputMs, () => void this.close())
    })
    child.once('close', () => void this.close()) // all of its output has been read
    await watchTree(pid, this.#run)
    ;(child.stdio[3] as Writable).end('go\n')
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (!stdin || this.#closed || this.ended !== null) return Promise.reject(new NotSent('The server is not running'))
    if (stdin.writableLength > maxUnwrittenBytes)
      return Promise.reject(new NotSent('The server does not read its input'))
    stdin.write(`${JSON.stringify(message)}\n`)
    return Promise.resolve()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const child = this.#child
    this.#closed = true
    if (child && child.pid !== undefined) {
      child.stdin?.end()
      if (!(await this.#exited(child))) {
        this.#signal('SIGTERM')
        await this.#exited(child)
      }
      this.#signal('SIGKILL')
      await killProcessTree(this.#run, this.#since)
    }
    for (const line of this.#lines.splice(0)) this.#handle(line)
    for (const stream of child?.stdio ?? []) stream?.destroy()
    this.#partial = []
    this.onclose?.()
  }

  /** False if the child still runs after the grace period. */
  #exited(child: ChildProcess): Promise<boolean> {
    if (this.ended !== null) return Promise.resolve(true)
    return new Promise((resolve) => {
      const cancelTimer = systemClock.timer(graceMs, () => resolve(false))
      child.once('exit', () => {
        cancelTimer()
        resolve(true)
      })
    })
  }

  #signal(name: 'SIGTERM' | 'SIGKILL'): void {
    try {
      process.kill(-(this.pid as number), name)
    } catch {} // the group has no process left
  }

  #received(chunk: Buffer): void {
    if (this.#closed && this.ended === null) return
    try {
      this.#meter.push(chunk)
    } catch (error) {
      this.onerror?.(error as Error)
      void this.close()
      return
    }
    let from = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      const end = chunk.subarray(from, at)
      this.#lines.push(this.#partial.length === 0 ? end : Buffer.concat([...this.#partial, end]))
      this.#partial = []
      from = at + 1
    }
    if (from < chunk.length) this.#partial.push(from === 0 ? chunk : Buffer.from(chunk.subarray(from)))
    if (!this.#draining) this.#drain()
  }

  /** Handles the lines in groups, and reads no further until they are handled. */
  #drain(): void {
    const lines = this.#lines.splice(0, messagesPerTurn)
    for (const line of lines) this.#handle(line)
    this.#draining = this.#lines.length > 0
    if (this.#draining) {
      this.#child?.stdout?.pause()
      setImmediate(() => this.#drain())
    } else this.#child?.stdout?.resume()
  }

  #handle(line: Buffer): void {
    if (line.length === 0) return
    let message: unknown
    try {
      message = JSON.parse(line.toString('utf8'))
    } catch {
      return // servers print other things to stdout by mistake
    }
    if (typeof message !== 'object' || message === null || (message as { jsonrpc?: unknown }).jsonrpc !== '2.0') return
    try {
      this.onmessage?.(withObjectResult(message as JSONRPCMessage))
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }
}

/** The SDK ignores an answer whose result is not an object, and its request would wait for the timeout. */
function withObjectResult(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message) || (typeof message.result === 'object' && (message.result as unknown) !== null))
    return message
  const error = { code: -32_603, message: 'It answered with a result that is not an object' }
  return { jsonrpc: '2.0', id: message.id, error }
}

/** The request has not reached the server, so it may be sent again. */
export class NotSent extends Error {
  override readonly name = 'NotSent'
}
