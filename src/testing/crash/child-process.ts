// A child process of a crash test, from outside.

import { type ChildProcess, fork } from 'node:child_process'
import { extname, join } from 'node:path'
import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import { systemClock } from '../../core/clock.ts'
import type { Answer } from '../../store/records/resolution.ts'
import { childMark, type Orders, type Said, type Told } from './messages.ts'

/** As built or as it stands in the source. */
const kind = extname(import.meta.filename)
const child = join(import.meta.dirname, `child${kind}`)
const asInSource = kind === '.ts' ? ['--conditions=@pawl/source'] : []

export type End = { readonly ended: Outcome; readonly writes: readonly string[] } | { readonly killed: string }

export class Child {
  readonly #process: ChildProcess
  readonly #module: string
  readonly #exit: Promise<void>
  readonly #loaded = Promise.withResolvers<readonly string[]>()
  #said = ''
  #end: End | null = null
  #broken: string | null = null
  #answer: ((wait: string) => Answer | undefined) | undefined

  /** `cache` is a folder where what was compiled once is kept for the next process. */
  constructor(module: string | URL, cache: string) {
    this.#module = String(module)
    this.#process = fork(child, [this.#module], {
      execArgv: [...process.execArgv, ...asInSource],
      env: { NODE_COMPILE_CACHE: cache, ...process.env, [childMark]: '1' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk: Buffer) => (this.#said += chunk.toString()))
    this.#process.on('message', (word: Said) => this.#heard(word))
    this.#exit = new Promise((over) => this.#process.once('close', over))
    void this.#exit.then(() => this.#loaded.resolve([]))
  }

  /** Carries the orders out to the end, whatever that is. */
  async end(
    orders: Orders,
    patienceMs: number,
    answer: ((wait: string) => Answer | undefined) | undefined,
  ): Promise<End> {
    this.#answer = answer
    const names = await this.#loaded.promise
    if (this.#broken === null && !names.includes(orders.tool)) {
      await this.kill()
      const found = names.length === 0 ? 'it exports no tools' : `it exports ${names.join(', ')}`
      throw new PawlError('config_invalid', `crashTest: ${this.#module} exports no tool '${orders.tool}': ${found}.`)
    }
    let late = false
    const callOff = systemClock.timer(patienceMs, () => {
      late = true
      this.#process.kill('SIGKILL')
    })
    if (this.#broken === null) this.#tell({ orders })
    await this.#exit
    callOff()
    if (this.#broken !== null)
      throw new PawlError('config_invalid', `crashTest: the child process could not do its work: ${this.#broken}`)
    if (this.#end) return this.#end
    const said = this.#said === '' ? '' : `; it said: ${this.#said.trimEnd()}`
    return {
      killed: late
        ? `it did not end within ${patienceMs / 1000} s${said}`
        : `the process ended without an outcome${said}`,
    }
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exit
  }

  #heard(word: Said): void {
    if ('loaded' in word) this.#loaded.resolve(word.loaded)
    else if ('asks' in word) this.#tell({ answer: this.#answer?.(word.asks) ?? null })
    else if ('ended' in word) this.#end = word
    else {
      this.#broken = word.broken
      this.#process.kill('SIGKILL')
    }
  }

  #tell(told: Told): void {
    // One that has died meanwhile hears nothing; its exit tells.
    this.#process.send(told, () => {})
  }
}
