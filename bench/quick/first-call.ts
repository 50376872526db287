// Time from the start of a process until its first call has settled, against a process that does nothing.

import { spawnSync } from 'node:child_process'
import type { Measure } from './child.ts'

// Runs as text in the root of the checkout, where the name 'pawl' resolves to that checkout.
const firstCall = `
  import { createRuntime, tool } from 'pawl'
  const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const noop = tool({ name: 'noop', description: 'Does nothing', input, hints: { readOnly: true }, execute: () => 1 })
  const runtime = await createRuntime({ store: 'memory:', tools: [noop] })
  const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'noop', input: { n: 1 } }])
  process.exit(outcome.status === 'success' ? 0 : 1)`

/**
 * The compile cache in `cache` holds the sources with their types stripped: stripping takes longer than anything else,
 * and the built package does not need it.
 */
export function measureStart(checkout: string, cache: string): Measure {
  return { floor: start('', checkout, cache), pawl: start(firstCall, checkout, cache) }
}

function start(code: string, checkout: string, cache: string): number {
  const from = performance.now()
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--conditions=@pawl/source', '--input-type=module', '-e', code],
    {
      cwd: checkout,
      env: { ...process.env, NODE_COMPILE_CACHE: cache },
      encoding: 'utf8',
      timeout: 30_000,
    },
  )
  if (status !== 0) throw new Error(`The first call failed in ${checkout}: ${stderr}`)
  return (performance.now() - from) * 1000
}
