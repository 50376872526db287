// Runs the public MCP conformance suites as child processes, one at a time, and reads the checks that they write.

import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { environment, node } from '../run-pawl.ts'

const require = createRequire(import.meta.url)

/** The package files of the releases of `@modelcontextprotocol/conformance` that the tests use. */
export const suites = {
  '0.1.16': require.resolve('@modelcontextprotocol/conformance/package.json'),
  '0.2.0-alpha.12': require.resolve('mcp-conformance-next/package.json'),
} as const
export type SuiteVersion = keyof typeof suites

export interface Check {
  readonly id: string
  readonly name: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
  readonly details?: unknown
}

/** The checks of each scenario that ran. */
export type SuiteResults = ReadonlyMap<string, readonly Check[]>

const run = promisify(execFile)
/** Only ends a suite that hangs. */
const maxRunMs = 240_000

/** The version that is installed: the lock file may say otherwise than this file. */
export function installedVersion(suite: SuiteVersion): string {
  return (JSON.parse(readFileSync(suites[suite], 'utf8')) as { version: string }).version
}

const folderOf = (suite: SuiteVersion): string => dirname(suites[suite])

/** Ends a test whose suite hangs: a suite takes seconds. */
export const suiteTimeoutMs = 300_000

/** Runs a suite with the given arguments and returns the checks of its scenarios. */
export async function runSuite(
  suite: SuiteVersion,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<SuiteResults> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  let output = ''
  try {
    const options = { cwd: folder, env: environment(env), timeout: maxRunMs, maxBuffer: 256 * 1024 * 1024 }
    const main = join(folderOf(suite), 'dist/index.js')
    // A suite with failed checks exits with 1; the caller compares the checks with its list of exceptions.
    const ended = await run(node, [main, ...args, '--output-dir', folder], options).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    output = `${ended.stdout}\n${ended.stderr}`
    const results = readResults(folder)
    if (results.size === 0) throw new Error(`The suite ${suite} wrote no checks:\n${output.slice(-4_000)}`)
    return results
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `server-tools-list-2026-01-02T03-04-05-678Z/checks.json` has the checks of `tools-list`. */
function readResults(folder: string): SuiteResults {
  const results = new Map<string, readonly Check[]>()
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const match = /^(?:server-(?=.*\/))?(?<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/.exec(file)
    const scenario = match?.groups?.scenario
    if (scenario !== undefined)
      results.set(scenario, JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly Check[])
  }
  return results
}

/** The scenarios that a revision requires, as the suite lists them. */
export function requiredScenarios(revision: string, side: 'server' | 'client'): readonly string[] {
  const text = requirementsOf(revision)
  const listed = new RegExp(`^${side}:\\n(?<entries>(?:  - .+\\n)+)`, 'm').exec(text)?.groups?.entries ?? ''
  return listed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice('  - '.length))
}

/** The scenarios of extensions that the suite runs without requiring them. */
export function extensionScenarios(revision: string, side: 'server' | 'client'): readonly string[] {
  const entry = new RegExp(`^  - scenario: (?<name>.+)\\n    leg: ${side}\\n    reason: extension$`, 'gm')
  return [...requirementsOf(revision).matchAll(entry)].map(({ groups }) => groups?.name ?? '')
}

const requirementsOf = (revision: string): string =>
  readFileSync(join(folderOf('0.2.0-alpha.12'), `requirements/${revision}.yaml`), 'utf8')

/** Scenarios or checks that may fail, each with the reason: by `scenario`, or `scenario:check` for a single check. */
export type Exceptions = Readonly<Record<string, string>>

/** The exceptions of some scenarios. */
export const exceptionsOf = (exceptions: Exceptions, has: (scenario: string) => boolean): Exceptions =>
  Object.fromEntries(Object.entries(exceptions).filter(([key]) => has(key.split(':', 1)[0] ?? '')))

/**
 * Contradictions to the list of exceptions: failed checks that are not listed, scenarios without a successful check,
 * and listed ones that passed. Empty if all is as listed.
 */
export function contradictions(results: SuiteResults, exceptions: Exceptions): readonly string[] {
  const found: string[] = []
  const used = new Set<string>()
  for (const [scenario, checks] of results)
    for (const { check, problem } of problemsOf(checks)) {
      const listed = [scenario, `${scenario}:${check}`].find((key) => key in exceptions)
      if (listed === undefined) found.push(`${scenario}:${check} failed: ${problem}`)
      else used.add(listed)
    }
  for (const listed of Object.keys(exceptions))
    if (!used.has(listed)) found.push(`${listed} is listed as an exception, but did not fail`)
  return found
}

/** A scenario whose checks were all skipped does not fail for the suite, but it shows nothing either. */
function problemsOf(checks: readonly Check[]): readonly { check: string; problem: string }[] {
  const failed = checks.filter(({ status }) => status === 'FAILURE')
  if (failed.length > 0)
    return failed.map(({ id, errorMessage }) => ({ check: id, problem: errorMessage ?? 'without a message' }))
  if (checks.some(({ id, status }) => status === 'SUCCESS' && !id.startsWith('wire-schema-'))) return []
  return [{ check: 'nothing-checked', problem: checks.map(({ errorMessage, id }) => errorMessage ?? id).join('; ') }]
}
