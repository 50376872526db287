// The older conformance suite and revision of MCP against a Pawl server on HTTP, and the extensions of the newest one.

import { expect, it } from 'vitest'
import {
  serverExceptions2025,
  serverExceptions2026,
  serverExceptionsStable,
} from '../../kit/mcp/conformance-exceptions.ts'
import { startConformanceServer } from '../../kit/mcp/conformance-server.ts'
import {
  contradictions,
  exceptionsOf,
  extensionScenarios,
  requiredScenarios,
  runSuite,
  type SuiteResults,
  type SuiteVersion,
  suiteTimeoutMs,
} from '../../kit/mcp/conformance-suite.ts'

const stable = '0.1.16'
const next = '0.2.0-alpha.12'
const older = '2025-11-25'
const newest = '2026-07-28'
const extensions = extensionScenarios(newest, 'server')

/** Each run has a server of its own, so that runs at the same time do not see each other. */
async function against(suite: SuiteVersion, ...args: string[]): Promise<SuiteResults> {
  const server = await startConformanceServer()
  try {
    return await runSuite(suite, ['server', '--url', server.url, ...args])
  } finally {
    await server.close()
  }
}

it(
  `MCP-1: the server passes what suite ${next} requires under ${older}, with listed exceptions`,
  { timeout: suiteTimeoutMs },
  async () => {
    const results = await against(next, '--requirements', older, '--timeout', '120000')
    expect(requiredScenarios(older, 'server').filter((scenario) => !results.has(scenario))).toEqual([])
    expect(contradictions(results, serverExceptions2025)).toEqual([])
  },
)

it(`MCP-1: the server passes suite ${stable}, with listed exceptions`, { timeout: suiteTimeoutMs }, async () => {
  const results = await against(stable, '--suite', 'all')
  expect(contradictions(results, serverExceptionsStable)).toEqual([])
})

it('MCP-1: the suite has scenarios of the tasks extension', () => {
  expect(extensions.length).toBeGreaterThanOrEqual(10)
  expect(extensions.filter((scenario) => !scenario.startsWith('tasks-'))).toEqual([])
})

// Most of their time they wait for a task.
it.concurrent.for(extensions)(
  'MCP-1: the server passes scenario %s of an extension, with listed exceptions',
  { timeout: suiteTimeoutMs },
  async (scenario) => {
    const forced = ['--spec-version', newest, '--force', '--timeout', '120000']
    const results = await against(next, '--scenario', scenario, ...forced)
    expect([...results.keys()]).toEqual([scenario])
    expect(
      contradictions(
        results,
        exceptionsOf(serverExceptions2026, (each) => each === scenario),
      ),
    ).toEqual([])
  },
)
