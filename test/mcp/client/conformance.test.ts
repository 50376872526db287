// The newest public conformance suite of MCP against the client that connects Pawl to MCP servers, under the newest
// revision. The slow tier has the older ones.

import { expect, it } from 'vitest'
import { clientForFile } from '../../kit/mcp/conformance-client.ts'
import { clientExceptions2026 } from '../../kit/mcp/conformance-exceptions.ts'
import { contradictions, requiredScenarios, suiteTimeoutMs } from '../../kit/mcp/conformance-suite.ts'

const run = clientForFile()
const next = '0.2.0-alpha.12'
const revision = '2026-07-28'

it(
  `MCP-2: the client passes what suite ${next} requires, with listed exceptions`,
  { timeout: suiteTimeoutMs },
  async () => {
    const results = await run(next, '--requirements', revision)
    expect(requiredScenarios(revision, 'client').filter((scenario) => !results.has(scenario))).toEqual([])
    expect(contradictions(results, clientExceptions2026)).toEqual([])
  },
)
