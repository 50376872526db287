// The public conformance suites of MCP against a Pawl server on HTTP. test/kit/mcp/conformance-exceptions.ts lists what
// may fail.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  serverExceptions2025,
  serverExceptions2026,
  serverExceptionsStable,
} from '../../kit/mcp/conformance-exceptions.ts'
import { type ConformanceServer, startConformanceServer } from '../../kit/mcp/conformance-server.ts'
import {
  contradictions,
  type Exceptions,
  installedVersion,
  requiredScenarios,
  runSuite,
  type SuiteResults,
  type SuiteVersion,
  suites,
} from '../../kit/mcp/conformance-suite.ts'

const stable = '0.1.16'
const next = '0.2.0-alpha.12'
/** A suite takes seconds; this only ends one that hangs. */
const suiteTimeoutMs = 300_000

let server: ConformanceServer
beforeAll(async () => {
  server = await startConformanceServer()
})
afterAll(() => server.close())

const required = [
  { revision: '2025-11-25', exceptions: serverExceptions2025 },
  { revision: '2026-07-28', exceptions: serverExceptions2026 },
]

/** It waits less than a second for the first event of a stream, which a machine under load may miss. */
const hurried = 'server-stateless'
const maxRuns = 4

/** Runs the hurried scenario again if it failed. A failure that is no matter of time comes back. */
async function hurriedAgain(first: SuiteResults, revision: string, exceptions: Exceptions): Promise<SuiteResults> {
  let results = first
  for (let run = 1; run < maxRuns; run++) {
    const unlisted = contradictions(results, exceptions)
    if (!unlisted.some((each) => each.startsWith(`${hurried}:`))) break
    const args = ['server', '--url', server.url, '--scenario', hurried, '--spec-version', revision]
    results = new Map([...results, ...(await runSuite(next, args))])
  }
  return results
}

describe.each(required)('revision $revision', ({ revision, exceptions }) => {
  it(
    `MCP-1: the server passes what suite ${next} requires, with listed exceptions`,
    { timeout: suiteTimeoutMs },
    async () => {
      const timeout = ['--timeout', '120000']
      const first = await runSuite(next, ['server', '--url', server.url, '--requirements', revision, ...timeout])
      const results = await hurriedAgain(first, revision, exceptions)
      expect(requiredScenarios(revision, 'server').filter((scenario) => !results.has(scenario))).toEqual([])
      expect(contradictions(results, exceptions)).toEqual([])
    },
  )
})

it(`MCP-1: the server passes suite ${stable}, with listed exceptions`, { timeout: suiteTimeoutMs }, async () => {
  const results = await runSuite(stable, ['server', '--url', server.url, '--suite', 'all'])
  expect(contradictions(results, serverExceptionsStable)).toEqual([])
})

it.each(Object.keys(suites) as SuiteVersion[])('MCP-1: suite %s is installed in that version', (version) => {
  expect(installedVersion(version)).toBe(version)
})
