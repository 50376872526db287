// A session with a real folder and the bash tool.

import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { afterEach } from 'vitest'
import { type ShellOptions, shellTools } from '../../../src/toolbox/shell/shell.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import { alive, clean } from '../../kit/processes/process-trees.ts'

export interface ShellWorld {
  readonly folder: string
  readonly runtime: Awaited<ReturnType<typeof createRuntime>>
  run(commands: string, input?: object, how?: { signal?: AbortSignal }): Promise<Outcome>
  /** Runs a command that must succeed and returns its value. */
  value(commands: string, input?: object): Promise<{ stdout: string; stderr: string; [key: string]: unknown }>
  /** Process ids that are left of the commands. */
  left(): number[]
  close(): Promise<void>
}

/** Returns a function that opens sessions; they, and what else is in `open`, are closed after each test. */
export function shellWorlds(
  open: { close(): Promise<void> }[] = [],
): (options?: Partial<ShellOptions>) => Promise<ShellWorld> {
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close()
  })
  return async (options) => {
    const made = await shellWorld(options)
    open.push(made)
    return made
  }
}

async function shellWorld(options: Partial<ShellOptions> = {}): Promise<ShellWorld> {
  const base = mkdtempSync(join(tmpdir(), 'pawl-shell-'))
  const folder = join(base, 'session')
  mkdirSync(folder)
  const mark = `shell-${randomUUID()}`
  const tools = shellTools({
    folder: () => folder,
    approval: 'never',
    ...options,
    env: { TEST_TREE: mark, ...options.env },
  })
  const runtime = await createRuntime({ store: 'memory:', tools, files: { folder: () => folder } })
  const session = runtime.session('shell')
  let calls = 0
  const run: ShellWorld['run'] = async (commands, input = {}, { signal } = {}) => {
    const [outcome] = await session.run(
      [{ id: `call-${++calls}`, name: 'bash', input: { commands, ...input } }],
      signal ? { signal } : {},
    )
    return outcome as unknown as Outcome
  }
  return {
    folder,
    runtime,
    run,
    async value(commands, input) {
      const outcome = await run(commands, input)
      if (outcome.status !== 'success') throw new Error(JSON.stringify(outcome))
      return outcome.value as never
    },
    left: () => alive(mark),
    async close() {
      await runtime.close()
      clean(mark)
      rmSync(base, { recursive: true, force: true })
    },
  }
}
