// Handle of a crash test child process, used by crash-test.ts.

import { type ChildProcess, fork } from 'node:child_process'
import { extname, join } from 'node:path'
import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import { systemClock } from '../../core/clock.ts'
import type { Answer } from '../../store/records/wait-resolution.ts'
import { childEnvVariable, type Orders, type ChildMessage, type ParentMessage } from './ipc-messages.ts'

export type ChildEnd = { readonly ended: Outcome; readonly writes: readonly string[] } | { readonly killed: string }

export class Child {
  readonly #process: ChildProcess
  readonly #module: string
  readonly #exit: Promise<void>
  readonly #loaded = Promise.withResolvers<readonly string[]>()
  #output = ''
  #end: ChildEnd | null = null
  #broken: string | null = null
  #answer: ((wait: string) => Answer | undefined) | undefined

  /** `cache` is a compile cache folder that all child processes share. */
  constructor(module: string | URL, cache: string) {
    this.#module = String(module)
    // `.js` when built, `.ts` when run from source. A CommonJS bundle has no `import.meta`, so this is not done on load.
    const extension = extname(import.meta.filename)
    const child = join(import.meta.dirname, `child-main${extension}`)
    const sourceConditions = extension === '.ts' ? ['--conditions=@pawl/source'] : []
    this.#process = fork(child, [this.#module], {
      execArgv: [...process.execArgv, ...sourceConditions],
      env: { NODE_COMPILE_CACHE: cache, ...process.env, [childEnvVariable]: '1' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()))
    this.#process.on('message', (word: ChildMessage) => this.#onMessage(word))
    this.#exit = new Promise((over) => this.#process.once('close', over))
    void this.#exit.then(() => this.#loaded.resolve([]))
  }

  /** Sends the orders and waits for the end of the process. */
  async end(
    orders: Orders,
    patienceMs: number,
    answer: ((wait: string) => Answer | undefined) | undefined,
  ): Promise<ChildEnd> {
    this.#answer = answer
    const names = await this.#loaded.promise
    if (this.#broken === null && !names.includes(orders.tool)) {
      await this.kill()
      const found = names.length === 0 ? 'it exports no tools' : `it exports ${names.join(', ')}`
      throw new PawlError('config_invalid', `crashTest: ${this.#module} exports no tool '${orders.tool}': ${found}.`)
    }
    let late = false
    const cancelTimer = systemClock.timer(patienceMs, () => {
      late = true
      this.#process.kill('SIGKILL')
    })
    if (this.#broken === null) this.#send({ orders })
    await this.#exit
    cancelTimer()
    if (this.#broken !== null)
      throw new PawlError('config_invalid', `crashTest: the child process failed: ${this.#broken}`)
    if (this.#end) return this.#end
    const output = this.#output === '' ? '' : `; its output: ${this.#output.trimEnd()}`
    return {
      killed: late
        ? `it did not end within ${patienceMs / 1000} s${output}`
        : `the process ended without an outcome${output}`,
    }
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exit
  }

  #onMessage(word: ChildMessage): void {
    if ('loaded' in word) this.#loaded.resolve(word.loaded)
    else if ('asks' in word) this.#send({ answer: this.#answer?.(word.asks) ?? null })
    else if ('ended' in word) this.#end = word
    else {
      this.#broken = word.broken
      this.#process.kill('SIGKILL')
    }
  }

  #send(message: ParentMessage): void {
    // A send error means that the child died; its exit event reports that.
    this.#process.send(message, () => {})
  }
}
