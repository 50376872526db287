// The public conformance suites of MCP against the client that connects Pawl to MCP servers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientRunner, startClientRunner } from '../../kit/mcp/conformance-client.ts'
import {
  clientExceptions2025,
  clientExceptions2026,
  clientExceptionsStable,
} from '../../kit/mcp/conformance-exceptions.ts'
import { contradictions, requiredScenarios, runSuite, type SuiteVersion } from '../../kit/mcp/conformance-suite.ts'

const stable = '0.1.16'
const next = '0.2.0-alpha.12'
/** A suite takes seconds; this only ends one that hangs. */
const suiteTimeoutMs = 300_000

/** Scenarios wait for each other in the runner. */
const scenarioTimeoutMs = 200_000

let client: ClientRunner
beforeAll(async () => {
  client = await startClientRunner()
})
afterAll(() => client.close())

const run = (suite: SuiteVersion, ...args: string[]): ReturnType<typeof runSuite> =>
  runSuite(suite, ['client', '--command', client.command, '--timeout', `${scenarioTimeoutMs}`, ...args], client.env)

const required = [
  { revision: '2025-11-25', exceptions: clientExceptions2025 },
  { revision: '2026-07-28', exceptions: clientExceptions2026 },
]

describe.each(required)('revision $revision', ({ revision, exceptions }) => {
  it(
    `MCP-2: the client passes what suite ${next} requires, with listed exceptions`,
    { timeout: suiteTimeoutMs },
    async () => {
      const results = await run(next, '--requirements', revision)
      expect(requiredScenarios(revision, 'client').filter((scenario) => !results.has(scenario))).toEqual([])
      expect(contradictions(results, exceptions)).toEqual([])
    },
  )
})

it(`MCP-2: the client passes suite ${stable}, with listed exceptions`, { timeout: suiteTimeoutMs }, async () => {
  expect(contradictions(await run(stable, '--suite', 'all'), clientExceptionsStable)).toEqual([])
})
