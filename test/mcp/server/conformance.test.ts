// The newest public conformance suite of MCP against a Pawl server on HTTP, under the newest revision. The slow tier has
// the older ones and the extensions. test/kit/mcp/conformance-exceptions.ts lists what may fail.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { serverExceptions2026 } from '../../kit/mcp/conformance-exceptions.ts'
import { type ConformanceServer, startConformanceServer } from '../../kit/mcp/conformance-server.ts'
import {
  contradictions,
  type Exceptions,
  exceptionsOf,
  extensionScenarios,
  installedVersion,
  requiredScenarios,
  runSuite,
  type SuiteResults,
  suites,
  type SuiteVersion,
  suiteTimeoutMs,
} from '../../kit/mcp/conformance-suite.ts'

const next = '0.2.0-alpha.12'
const revision = '2026-07-28'

let server: ConformanceServer
beforeAll(async () => {
  server = await startConformanceServer()
})
afterAll(() => server.close())

/** It waits less than a second for the first event of a stream, which a machine under load may miss. */
const hurried = 'server-stateless'
const maxRuns = 4

/** Runs the hurried scenario again if it failed. A failure that is no matter of time comes back. */
async function hurriedAgain(first: SuiteResults, exceptions: Exceptions): Promise<SuiteResults> {
  let results = first
  for (let run = 1; run < maxRuns; run++) {
    const unlisted = contradictions(results, exceptions)
    if (!unlisted.some((each) => each.startsWith(`${hurried}:`))) break
    const args = ['server', '--url', server.url, '--scenario', hurried, '--spec-version', revision]
    results = new Map([...results, ...(await runSuite(next, args))])
  }
  return results
}

it(
  `MCP-1: the server passes what suite ${next} requires, with listed exceptions`,
  { timeout: suiteTimeoutMs },
  async () => {
    const which = ['--suite', 'all', '--spec-version', revision, '--timeout', '120000']
    const extensions = extensionScenarios(revision, 'server')
    const exceptions = exceptionsOf(serverExceptions2026, (scenario) => !extensions.includes(scenario))
    const results = await hurriedAgain(await runSuite(next, ['server', '--url', server.url, ...which]), exceptions)
    expect(requiredScenarios(revision, 'server').filter((scenario) => !results.has(scenario))).toEqual([])
    expect(contradictions(results, exceptions)).toEqual([])
  },
)

it.each(Object.keys(suites) as SuiteVersion[])('MCP-1: suite %s is installed in that version', (version) => {
  expect(installedVersion(version)).toBe(version)
})
