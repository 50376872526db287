// docs/reference/mcp-conformance.md is made from the list of exceptions of the conformance suites.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  clientExceptions2025,
  clientExceptions2026,
  clientExceptionsStable,
  serverExceptions2025,
  serverExceptions2026,
  serverExceptionsStable,
} from '../kit/mcp/conformance-exceptions.ts'
import { type Exceptions, requiredScenarios } from '../kit/mcp/conformance-suite.ts'

const page = join(import.meta.dirname, '../../docs/reference/mcp-conformance.md')

const introduction = `# MCP conformance

The public conformance suites (npm \`@modelcontextprotocol/conformance\`) run in the tests of Pawl: against the server at
\`/mcp\`, and against the client that connects Pawl to MCP servers. A check that fails is listed here with the reason. A
test fails when another check fails, and when a listed one passes.

- Suite 0.1.16 covers 2025-06-18 and 2025-11-25. All its scenarios run.
- Suite 0.2.0-alpha.12 covers 2025-11-25 and 2026-07-28. The scenarios run that each revision requires, and those that
  the suite runs without requiring them, such as the ones of the tasks extension.

Required scenarios of suite 0.2.0-alpha.12 that pass:

| revision | server | client, without OAuth | client, OAuth |
|---|---|---|---|`

const nothingChecked = 'nothing-checked'
const isOAuth = (scenario: string): boolean => scenario.startsWith('auth/')

/** Scenarios with a failed check; one in which the suite checks nothing has none. */
const failing = (exceptions: Exceptions): ReadonlySet<string> =>
  new Set(
    Object.keys(exceptions).flatMap((key) => {
      const [scenario = '', check] = key.split(':')
      return check === nothingChecked ? [] : [scenario]
    }),
  )

function passed(scenarios: readonly string[], exceptions: Exceptions): string {
  const failed = failing(exceptions)
  return `${scenarios.filter((scenario) => !failed.has(scenario)).length} of ${scenarios.length}`
}

function countRow(revision: string, server: Exceptions, client: Exceptions): string {
  const ofClient = requiredScenarios(revision, 'client')
  const counts = [
    passed(requiredScenarios(revision, 'server'), server),
    passed(
      ofClient.filter((scenario) => !isOAuth(scenario)),
      client,
    ),
    passed(ofClient.filter(isOAuth), client),
  ]
  return `| ${revision} | ${counts.join(' | ')} |`
}

/** One row for each reason. */
function table(title: string, exceptions: Exceptions): string {
  const byReason = Map.groupBy(Object.entries(exceptions), ([, reason]) => reason)
  const rows = [...byReason].map(([reason, entries]) => {
    const names = entries.map(([key]) => {
      const [scenario, check] = key.split(':')
      if (check === nothingChecked) return `\`${scenario}\` (nothing is checked)`
      return check === undefined ? `\`${scenario}\`` : `\`${scenario}\`: \`${check}\``
    })
    return `| ${reason} | ${names.join('<br>')} |`
  })
  return [`## ${title}`, '', '| why | scenarios and checks |', '|---|---|', ...rows].join('\n')
}

function reference(): string {
  return `${[
    [
      introduction,
      countRow('2025-11-25', serverExceptions2025, clientExceptions2025),
      countRow('2026-07-28', serverExceptions2026, clientExceptions2026),
    ].join('\n'),
    table('The server under 2026-07-28', serverExceptions2026),
    table('The server under 2025-11-25', serverExceptions2025),
    table('The server in suite 0.1.16', serverExceptionsStable),
    table('The client under 2026-07-28', clientExceptions2026),
    table('The client under 2025-11-25', clientExceptions2025),
    table('The client in suite 0.1.16', clientExceptionsStable),
  ].join('\n\n')}\n`
}

test('MCP-1 MCP-2: docs/reference/mcp-conformance.md lists the exceptions (PAWL_WRITE=1 writes it)', () => {
  if (process.env.PAWL_WRITE) writeFileSync(page, reference())
  expect(readFileSync(page, 'utf8')).toBe(reference())
})
