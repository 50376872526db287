// Uses the server of a client scenario as a Pawl runtime does: connects to it as a provider, calls every tool it lists,
// and reads its resources and prompts.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createRuntime, type Outcome, type ToolListing } from 'pawl'
import { type McpProvider, mcpProvider } from 'pawl/mcp'
import { afterAll, beforeAll, vi } from 'vitest'
import { node } from '../run-pawl.ts'
import { quiet } from '../stores/fresh-store.ts'
import { runSuite, type SuiteResults, type SuiteVersion } from './conformance-suite.ts'

interface Scenario {
  readonly url: string
  readonly scenario: string
  readonly context: { readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[] }
}

/** The client's actions in a scenario, for the message of a failed test. */
type Report = Readonly<Record<string, unknown>>

interface ClientRunner {
  /** The command for the `--command` option of a suite. */
  readonly command: string
  /** Environment of the suite, which its commands inherit. */
  readonly env: Readonly<Record<string, string>>
  readonly reports: ReadonlyMap<string, Report>
  close(): Promise<void>
}

/** Scenarios wait for each other in the runner. */
const scenarioTimeoutMs = 200_000

/** Runs client suites against one runner, which lives as long as the test file. */
export function clientForFile(): (suite: SuiteVersion, ...args: string[]) => Promise<SuiteResults> {
  let client: ClientRunner
  beforeAll(async () => {
    client = await startClientRunner()
  })
  afterAll(() => client.close())
  return (suite, ...args) =>
    runSuite(suite, ['client', '--command', client.command, '--timeout', `${scenarioTimeoutMs}`, ...args], client.env)
}

/** Answers the commands of client scenarios. */
async function startClientRunner(): Promise<ClientRunner> {
  const reports = new Map<string, Report>()
  const slots = new Slots(4)
  const server = createServer((request, response) => {
    const answer = (status: number, report: Report): void => void response.writeHead(status).end(JSON.stringify(report))
    void (async () => {
      try {
        const scenario = JSON.parse(await bodyOf(request)) as Scenario
        // The suite starts its scenarios at the same time; a few clients at once are enough for two cores.
        const report = await slots.run(() => useServer(scenario))
        reports.set(scenario.scenario, report)
        answer(200, report)
      } catch (error) {
        answer(500, { error: String(error) })
      }
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    command: `${node} ${join(import.meta.dirname, 'child-conformance-client.ts')}`,
    env: { PAWL_CLIENT_RUNNER: `http://127.0.0.1:${port}` },
    reports,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(free: number) {
    this.#free = free
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

async function useServer({ url, scenario, context }: Scenario): Promise<Report> {
  const provider = mcpProvider('suite', { url, trusted: true, prefix: '' })
  const runtime = await createRuntime({
    store: 'memory:',
    logger: quiet,
    providers: [provider],
    policy: { rules: [{ tool: '*', then: 'allow' }] },
  })
  try {
    const tools = (): readonly ToolListing[] => runtime.tools.list().filter((tool) => tool.provider === 'suite')
    // On a machine under load the first listing comes late. Servers that want OAuth never list anything.
    if (!scenario.startsWith('auth/')) {
      const { length } = await vi.waitFor(() => provider.list(), { timeout: 60_000 })
      await vi.waitUntil(() => tools().length === length, { timeout: 60_000 })
    }
    const listed = tools()
    const outcomes: Record<string, Outcome> = {}
    const session = runtime.session('scenario')
    const calls =
      context.toolCalls?.map((call) => ({ name: call.name, input: withoutNulls(call.arguments) })) ??
      (await Promise.all(listed.map(async ({ name }) => ({ name, input: await sampleInput(provider, name) }))))
    for (const [index, call] of calls.entries()) {
      const [outcome] = await session.run([{ id: `call-${index}`, ...call }])
      outcomes[`${index} ${call.name}`] = outcome as Outcome
    }
    return { listed: listed.map(({ name }) => name), outcomes, content: await readContent(provider) }
  } finally {
    await runtime.close({ grace: 0 })
  }
}

/** A scenario passes null for a boolean to see that no header is sent. Pawl refuses it, so the argument is left out. */
const withoutNulls = (input: object): object =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))

/** Everything that the server offers besides tools. A server may refuse any of it. */
async function readContent({ content }: McpProvider): Promise<Report> {
  const attempt = async <T>(read: () => Promise<T>): Promise<T | { error: string }> => {
    try {
      return await read()
    } catch (error) {
      return { error: String(error) }
    }
  }
  const resources = await attempt(() => content.listResources())
  const prompts = await attempt(() => content.listPrompts())
  const [resource] = Array.isArray(resources) ? (resources as { uri: string }[]) : []
  const [prompt] = Array.isArray(prompts) ? (prompts as { name: string }[]) : []
  return {
    resources,
    prompts,
    resource: resource && (await attempt(() => content.readResource(resource.uri))),
    prompt: prompt && (await attempt(() => content.getPrompt(prompt.name, {}))),
  }
}

/** Valid arguments for a tool: a value of its type for each required property. */
async function sampleInput(provider: McpProvider, name: string): Promise<object> {
  // The suite sends this schema back to itself, to see whether the client changed it.
  if (name === 'json_schema_echo') return { schema: await schemaOf(provider, 'json_schema_2020_12_tool') }
  // The schema of an invalid tool cannot be read. The call is made all the same: it must not reach the server.
  const none: ObjectSchema = {}
  const { properties = {}, required = [] } = await schemaOf(provider, name).catch(() => none)
  const samples: Readonly<Record<string, unknown>> = {
    number: 5,
    integer: 3,
    string: 'text',
    boolean: true,
    object: {},
  }
  return Object.fromEntries(required.map((key) => [key, samples[properties[key]?.type ?? 'string']]))
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: string }>>
  readonly required?: readonly string[]
}

async function schemaOf(provider: McpProvider, name: string): Promise<ObjectSchema> {
  return (await provider.resolve(name)).input.json
}
