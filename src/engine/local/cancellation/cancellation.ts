// Cancels (TIME-3): of calls that run here, wait for the outside, or are another worker's. One that the store did not take is asked for again
// until it does: whoever gave up a batch is not there any more to ask.

import { isLoss } from '../../../core/errors.ts'
import type { Store } from '../../../store/store.ts'
import type { Answers } from '../waits/wait-answers.ts'
import type { Why } from './cancel-record.ts'
import type { LocalExecution } from '../execution.ts'
import type { ActiveCalls } from '../active-calls.ts'
import type { LocalEngineOptions } from '../options.ts'

export class Cancels {
  readonly #store: Store
  readonly #answers: Answers
  readonly #lives: ActiveCalls
  /** What the store did not take, by what it is about; and those of it that are cancels of a call. */
  readonly #owed = new Map<string, () => Promise<unknown>>()
  readonly #wishes = new Map<string, Why>()

  readonly #unheard: LocalEngineOptions['unheard']

  constructor({ store, unheard }: LocalEngineOptions, answers: Answers, lives: ActiveCalls) {
    this.#store = store
    this.#unheard = unheard
    this.#answers = answers
    this.#lives = lives
  }

  async cancel(uid: string, why: Why): Promise<boolean> {
    this.#wishes.set(uid, why)
    try {
      return await this.surely(uid, () => this.#cancel(uid, why))
    } finally {
      if (!this.#owed.has(uid)) this.#wishes.delete(uid)
    }
  }

  /** A call that is taken up again, and whose cancel is not on record yet: it is told, and the record follows. */
  tell({ request, held }: LocalExecution): void {
    const why = this.#wishes.get(request.uid)
    if (why) held.cancelledOutside(why)
  }

  /** Now, and should it fail, again with every look. */
  async surely<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      // One that cannot be read cannot be read the next time either.
      if (isLoss(error)) this.#owed.set(name, work)
      throw error
    }
  }

  async lookAgain(): Promise<void> {
    for (const [name, work] of this.#owed) {
      this.#owed.delete(name)
      await this.surely(name, work)
      this.#wishes.delete(name)
    }
  }

  async #cancel(uid: string, why: Why): Promise<boolean> {
    const execution = this.#lives.byUid.get(uid)?.execution
    if (execution) {
      const asked = execution.held.cancel(why)
      asked.catch(() => {}) // told below, after the waits
      // In the same breath: no answer is taken any more that nobody would hear.
      await execution.abandon().catch(() => {}) // then the pipeline does it
      if ((await asked) || execution.held.letGo !== 'parked') return asked
    }
    await this.#lives.byUid.get(uid)?.recording
    const record = await this.#store.call(uid)
    const wait = record?.state === 'parked' && record.wait !== null ? await this.#store.wait(record.wait) : undefined
    // A parked call is nobody's: its wait is answered with the cancellation, which competes with every other answer.
    if (record && wait) return this.#answers.cancelParked(wait, record, why)
    if (!record || record.state === 'settled') return false
    // It is another worker's, or nobody's yet, or was to be this one's and could not be read: whoever takes it finds the cancel on record.
    const { execution: own } = this.#lives.byUid.get(uid) ?? {}
    if (own && own !== execution) return this.#cancel(uid, why)
    const asked = await this.#answers.cancelElsewhere(record, why)
    if (asked) this.#lives.byUid.get(uid)?.execution?.held.cancelledOutside(why)
    if (asked) await this.#unheard?.(uid, why)
    return asked
  }
}
