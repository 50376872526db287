// The drivers that are registered with an engine. The engine passes each execution to the driver that selects it.

import type { MaybePromise } from '../core/maybe-promise.ts'
import { reservedPrefix } from '../store/journal-keys.ts'
import type { CallPosition, CallRecord } from '../store/records/call-record.ts'
import type { Drive, Driven, Driver, Execution } from './engine.ts'

export class Drivers {
  readonly #all: Driver[] = []
  readonly #selective: Required<Pick<Driver, 'drive' | 'selects'>>[] = []
  #fallback: Drive = () => Promise.reject(new Error('No driver is registered for calls'))

  register(driver: Driver): void {
    this.#all.push(driver)
    if (driver.selects) this.#selective.push(driver as Required<Driver>)
    else this.#fallback = driver.drive
  }

  drive(execution: Execution): Promise<Driven> {
    // Only internal calls have a reserved tool name, so the others need no search.
    if (execution.request.tool.startsWith(reservedPrefix))
      for (const driver of this.#selective) if (driver.selects(execution)) return driver.drive(execution)
    return this.#fallback(execution)
  }

  tools(): readonly string[] {
    return this.#all.flatMap((driver) => driver.tools())
  }

  canDrive(tool: string): boolean {
    return this.#all.some((driver) => driver.tools().includes(tool))
  }

  /** Asks the driver that validates answers. Without one, every answer is accepted. */
  validateAnswer(call: CallRecord, value: unknown, required: boolean): MaybePromise<readonly string[]> {
    return this.#all.find((driver) => driver.validateAnswer)?.validateAnswer?.(call, value, required) ?? []
  }

  onReturning(records: readonly CallRecord[]): void {
    for (const driver of this.#all) driver.onReturning?.(records)
  }

  onGone(position: CallPosition): void {
    for (const driver of this.#all) driver.onGone?.(position)
  }

  async onUnheard(uid: string, why: { readonly reason: string; readonly by: string | null }): Promise<void> {
    for (const driver of this.#all) await driver.onUnheard?.(uid, why)
  }
}
