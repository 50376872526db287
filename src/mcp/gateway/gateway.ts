// Builds the parts of a gateway from a servers file: a provider per server, the content of all, and the policy. The
// commands of the CLI make a runtime of them.

import type { PolicyDefinition } from '../../index.ts'
import { type McpProvider, mcpProvider } from '../client/mcp-provider.ts'
import type { ContentSource } from '../content-source.ts'
import { combineContent } from './combined-content.ts'
import { gatewayPolicy } from './gateway-policy.ts'
import { problemLogger } from './problem-logger.ts'
import { type ConfiguredServer, missingVariables, type ServersFile } from './servers-file.ts'

export interface Gateway {
  readonly providers: readonly McpProvider[]
  readonly content: ContentSource
  readonly policy: PolicyDefinition
  readonly skipped: readonly SkippedServer[]
}

/** A server that is configured and not used. */
export interface SkippedServer {
  readonly name: string
  readonly state: 'disabled' | 'incomplete'
  readonly message: string
}

type Variables = Readonly<Record<string, string | undefined>>

export function createGateway(
  { servers, policy }: ServersFile,
  variables: Variables,
  onProblem: (problem: string) => void,
): Gateway {
  const skipped = servers.flatMap((server) => reasonToSkip(server, variables) ?? [])
  const used = servers.filter(({ name }) => !skipped.some((each) => each.name === name))
  const running = used.map(({ name, config }) => ({
    name,
    prefix: config.prefix ?? name.slice(0, 32),
    provider: mcpProvider(name, config, { logger: problemLogger(onProblem) }),
  }))
  return {
    providers: running.map(({ provider }) => provider),
    content: combineContent(
      running.map(({ name, prefix, provider }) => ({ name, prefix, content: provider.content })),
      onProblem,
    ),
    policy: gatewayPolicy(policy),
    skipped,
  }
}

/** A server without its secrets would fail in ways of its own, so it does not start. The others run. */
function reasonToSkip({ name, config }: ConfiguredServer, variables: Variables): SkippedServer | undefined {
  if (config.disabled) return { name, state: 'disabled', message: 'It has `disabled: true`.' }
  const missing = missingVariables(config, variables)
  if (missing.length === 0) return undefined
  const list = missing.map((each) => `\${${each}}`).join(', ')
  const verb = missing.length === 1 ? 'is' : 'are'
  return {
    name,
    state: 'incomplete',
    message: `${list} ${verb} not set in the environment of the gateway. Set it and start again.`,
  }
}
