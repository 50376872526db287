import { expect, test } from 'vitest'
import { openHostile, plainTool } from '../../kit/mcp/open-mcp.ts'

const asks = 'waiting'
const runs = 'success'

/** The hints of a tool, and whether a call runs without approval at a trusted server and at another one. */
const rows = [
  [{ readOnlyHint: true }, runs, asks],
  [{ readOnlyHint: true, openWorldHint: false, destructiveHint: false }, runs, asks],
  [{ readOnlyHint: true, openWorldHint: true }, asks, asks],
  [{ readOnlyHint: true, destructiveHint: true }, asks, asks],
  [{ readOnlyHint: 'true' }, asks, asks],
  [{ destructiveHint: false }, asks, asks],
  [{ destructiveHint: false, idempotentHint: true, openWorldHint: false }, asks, asks],
  [{ readOnlyHint: false }, asks, asks],
  [undefined, asks, asks],
  [['readOnlyHint'], asks, asks],
] as const

test.each([
  ['trusted', 1, true],
  ['not trusted', 2, false],
] as const)('TOOL-2: the hints of a server that is %s decide whether a call asks', async (_, column, trusted) => {
  const tools = rows.map(([annotations], n) => plainTool(`t${n}`, { annotations }))
  const { runtime, server } = await openHostile({ tools }, { trusted }, { policy: [] })
  const outcomes: unknown[] = []
  for (const n of rows.keys()) {
    const calls = [{ id: `c${n}`, name: `h__t${n}`, input: {} }]
    const [outcome] = await runtime.session(`s${n}`).run(calls, { until: 'waiting' })
    outcomes.push(outcome?.status)
  }
  expect(outcomes).toEqual(rows.map((row) => row[column]))
  expect(server.effects).toHaveLength(outcomes.filter((status) => status === runs).length)
})
