// A session with the toolbox for tests; its files are in the store or in a real folder.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type CallOutcome, type Runtime, type RuntimeOptions } from 'pawl'
import { toolbox } from 'pawl/toolbox'
import { afterEach, beforeEach, describe } from 'vitest'
import type { SessionFiles } from '../../src/core/session-files-interface.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

export interface Asking {
  readonly runtime: Runtime
  readonly clock: ManualClock
  readonly files: SessionFiles
  /** The folder of the files; undefined if they are in the store. */
  readonly folder: string | undefined
  ask(name: string, input?: unknown): Promise<CallOutcome>
  /** Runs a call that must succeed and returns its value. */
  value<T = Record<string, unknown>>(name: string, input?: unknown): Promise<T>
  /** Runs a call that must fail and returns its failure. */
  failure(name: string, input?: unknown): Promise<{ code: string; class: string; message: string }>
}

const allowAll = { rules: [{ then: 'allow' }] } as const

export async function asking(folder?: string, options: Partial<RuntimeOptions> = {}): Promise<Asking> {
  const clock = manualClock(Date.UTC(2026, 2, 1, 10, 30, 5, 7))
  const runtime = await createRuntime({
    store: 'memory:',
    tools: toolbox.all(),
    clock,
    logger: quiet,
    policy: allowAll,
    ...(folder === undefined ? {} : { files: { folder: () => folder } }),
    ...options,
  })
  const session = runtime.session('s')
  let calls = 0
  const ask = async (name: string, input: unknown = {}): Promise<CallOutcome> => {
    const [outcome] = await session.run([{ id: `c${++calls}`, name, input }])
    return outcome as CallOutcome
  }
  return {
    runtime,
    clock,
    files: session.files,
    folder,
    ask,
    async value<T>(name: string, input?: unknown) {
      const outcome = await ask(name, input)
      if (outcome.status !== 'success') throw new Error(`${name}: ${JSON.stringify(outcome)}`)
      return outcome.value as T
    },
    async failure(name, input) {
      const outcome = await ask(name, input)
      if (outcome.status !== 'failure') throw new Error(`${name} did not fail: ${JSON.stringify(outcome)}`)
      const { code, class: kind, message } = outcome.failure
      return { code, class: kind, message }
    },
  }
}

/** Defines the same tests twice: with files in the store and with files in a real folder. */
export function wherever(name: string, define: (given: () => Asking) => void): void {
  for (const where of ['the store', 'a folder'] as const) {
    describe(`${name}, files in ${where}`, () => {
      let place: string | undefined
      let now: Asking
      beforeEach(async () => {
        if (where === 'a folder') {
          place = mkdtempSync(join(tmpdir(), 'pawl-box-'))
          mkdirSync(join(place, 'root'))
        }
        now = await asking(place && join(place, 'root'))
      })
      afterEach(async () => {
        await now.runtime.close({ grace: 0 })
        if (place) rmSync(place, { recursive: true, force: true })
      })
      define(() => now)
    })
  }
}
