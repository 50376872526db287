// The older conformance suite and revision of MCP against the client that connects Pawl to MCP servers.

import { expect, it } from 'vitest'
import { clientForFile } from '../../kit/mcp/conformance-client.ts'
import { clientExceptions2025, clientExceptionsStable } from '../../kit/mcp/conformance-exceptions.ts'
import { contradictions, requiredScenarios, suiteTimeoutMs } from '../../kit/mcp/conformance-suite.ts'

const run = clientForFile()
const stable = '0.1.16'
const next = '0.2.0-alpha.12'
const older = '2025-11-25'

it(
  `MCP-2: the client passes what suite ${next} requires under ${older}, with listed exceptions`,
  { timeout: suiteTimeoutMs },
  async () => {
    const results = await run(next, '--requirements', older)
    expect(requiredScenarios(older, 'client').filter((scenario) => !results.has(scenario))).toEqual([])
    expect(contradictions(results, clientExceptions2025)).toEqual([])
  },
)

it(`MCP-2: the client passes suite ${stable}, with listed exceptions`, { timeout: suiteTimeoutMs }, async () => {
  expect(contradictions(await run(stable, '--suite', 'all'), clientExceptionsStable)).toEqual([])
})
