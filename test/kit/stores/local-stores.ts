// Runs the same tests on every store that a single process can use, each test on a fresh store.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Logger, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { afterEach, describe } from 'vitest'

export interface Bench {
  /** Opens a runtime on this test's store. SQLite keeps its data when it is opened again after close. */
  open(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
  readonly logged: { level: string; message: string; fields: Record<string, unknown> | undefined }[]
  readonly survives: boolean
}

export function onEachStore(name: string, define: (bench: Bench) => void): void {
  for (const kind of ['memory', 'sqlite'] as const) {
    describe(`${name} on ${kind}`, () => {
      let dir: string | undefined
      const open: Runtime[] = []
      const logged: Bench['logged'] = []
      const log = (level: string) => (message: string, fields?: Record<string, unknown>) =>
        void logged.push({ level, message, fields })
      const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
      afterEach(async () => {
        await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
        logged.length = 0
        if (dir) rmSync(dir, { recursive: true, force: true })
        dir = undefined
      })
      define({
        logged,
        survives: kind === 'sqlite',
        async open(tools, options) {
          dir ??= mkdtempSync(join(tmpdir(), 'pawl-test-'))
          const store = kind === 'memory' ? 'memory:' : `sqlite:${join(dir, 'agent.db')}`
          const runtime = await createRuntime({ store, tools, logger, ...options })
          open.push(runtime)
          return runtime
        },
      })
    })
  }
}
