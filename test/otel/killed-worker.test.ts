// A turn whose worker is killed with SIGKILL in the middle of a call, and that another process resumes: one trace.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { freshDir } from '../kit/stores/fresh-store.ts'
import { collecting } from '../kit/telemetry/collecting.ts'
import { crashedTurn, killAndResume, linksOf, shapeOf } from '../kit/telemetry/killed-worker.ts'

const telemetry = collecting()
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
function freshStore(): string {
  const folder = freshDir()
  folders.push(folder)
  return `sqlite:${join(folder, 'agent.db')}`
}

test(
  'DOOR-3: one trace shows a turn whose worker was killed and that another one resumed',
  { timeout: 90_000 },
  async () => {
    const { collector } = telemetry
    expect(await killAndResume(collector, freshStore())).toBe('success')
    const { spans } = collector
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(shapeOf(spans)).toEqual(crashedTurn)
    const [lost, resumed] = collector.named('execute_tool work')
    expect(lost).toMatchObject({ isError: true, attributes: { 'error.type': 'worker_lost', 'pawl.attempt': 1 } })
    expect(resumed).toMatchObject({ isError: false, attributes: { 'pawl.outcome': 'success', 'pawl.attempt': 2 } })
    expect(linksOf(spans, 'execute_tool work', 1)).toEqual(['pawl.resume', 'execute_tool work'])
    const [agent] = collector.named('invoke_agent')
    expect(agent?.durationMs).toBeGreaterThanOrEqual(resumed?.durationMs ?? Infinity)
  },
)

test('DOOR-3: with random span ids only steps of the lost attempt have no parent', { timeout: 90_000 }, async () => {
  const { collector } = telemetry
  expect(await killAndResume(collector, freshStore(), true)).toBe('success')
  const { spans } = collector
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  const parents = shapeOf(spans)
  expect(parents.filter((each) => each.endsWith('< missing'))).toEqual(['first: pawl.step first < missing'])
  expect(parents).toHaveLength(crashedTurn.length)
})
