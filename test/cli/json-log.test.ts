// `--log json`: log lines on stderr are JSON objects, and nothing else is there.

import { expect, test } from 'vitest'
import { pawl, projectFolder } from '../kit/run-pawl.ts'

const config = `
import { tool } from 'pawl'
const look = tool({
  name: 'look',
  description: 'd',
  input: { type: 'object' },
  background: true,
  execute: (_, ctx) => void ctx.log.warn('Looking\\nfor swordfish-4711'),
})
export default { runtime: { tools: [look], secrets: ['swordfish-4711'] } }
`

test('DOOR-3: `pawl worker --log json` writes one JSON object per line, without secrets', async () => {
  const cwd = projectFolder({ 'pawl.config.mjs': config })
  expect((await pawl({ cwd }, 'tasks', 'start', 's', 'look')).code).toBe(0)
  const { code, err } = await pawl({ cwd }, 'worker', '--once', '--log', 'json')
  expect(code, err).toBe(0)
  const lines = err.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'warn', message: 'Looking\nfor [redacted]', tool: 'look', tenant: 'default' },
  ])
})
