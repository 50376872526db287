// MCP: the servers whose tools this runtime uses, and how a host uses the tools of this runtime.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { basePath, client, queryClient } from '../../api/client.ts'
import { Confirm } from '../../forms/confirm.tsx'
import { useMay, useMe } from '../../shell/me.tsx'
import { Command } from '../../ui/command.tsx'
import { Badge, Copy, Failed, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { notify } from '../../ui/notices.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, durationText } from '../../ui/time.tsx'
import { toolPath, toolsQuery } from '../tools/catalogue.ts'
import { hosts } from './hosts.ts'

export function McpScreen(): ReactNode {
  usePageTitle('MCP')
  const { allTenants } = useMe()
  const mayOperate = useMay('operate')
  return (
    <>
      <ScreenTitle>MCP</ScreenTitle>
      {mayOperate && allTenants ? (
        <Servers />
      ) : (
        <p className="mb-4 text-soft">
          The state of MCP servers is about all tenants: it needs the role operator, for all tenants.
        </p>
      )}
      <Hosts />
    </>
  )
}

type Server = Awaited<ReturnType<typeof client.providers.list>>[number]

function Servers(): ReactNode {
  const { data: servers, error } = useQuery({
    queryKey: ['providers'],
    queryFn: () => client.providers.list(),
    refetchInterval: 5_000,
  })
  if (error && !servers) return <Failed error={error} />
  return (
    <Section title="Servers that this runtime uses">
      {servers?.length === 0 && (
        <>
          <p className="mb-2 text-soft">
            None. List them as providers in pawl.config.ts, or run the servers of a host behind the gateway:
          </p>
          <Command text="pawl mcp import claude-code" />
        </>
      )}
      <ul className="divide-y divide-line">
        {servers?.map((server) => (
          <ServerRow key={server.name} server={server} />
        ))}
      </ul>
    </Section>
  )
}

const transports: Readonly<Record<string, string>> = { stdio: 'a program on this machine (stdio)', http: 'over HTTP' }

function ServerRow({ server }: { readonly server: Server }): ReactNode {
  const { name, available, trusted, problem, since, tools, quarantined, details, reconnectable } = server
  const [isOpen, setOpen] = useState(false)
  const [isReconnecting, setReconnecting] = useState(false)
  const { transport, protocol, latencyMs } = details
  const facts = [
    transport === undefined ? null : (transports[transport] ?? shown(transport)),
    protocol === undefined ? null : `MCP ${shown(protocol)}`,
    latencyMs === undefined ? null : `listed its tools in ${durationText(latencyMs)}`,
  ].filter((fact) => fact !== null)
  return (
    <li className="py-3">
      <p className="flex flex-wrap items-center gap-2">
        <span className="any font-medium">{shown(name)}</span>
        <Badge tone={available ? 'go' : 'stop'}>{available ? 'Available' : 'Not available'}</Badge>
        {trusted && <Badge>Trusted</Badge>}
        <span className="ml-auto text-sm text-soft">
          since <Ago at={since} />
        </span>
      </p>
      {facts.length > 0 && <p className="any text-sm text-soft">{facts.join(' · ')}</p>}
      {problem !== null && (
        <p className="wrap mt-1 text-stop">
          {shown(problem)} Pawl tries again by itself; until then the calls of its tools fail.
        </p>
      )}
      {quarantined > 0 && (
        <p className="mt-1">
          <Link href="/policy" className="text">
            {quarantined} changed {quarantined === 1 ? 'tool waits' : 'tools wait'} for a person
          </Link>
        </p>
      )}
      <div className="mt-2 flex flex-wrap gap-2">
        <button type="button" className="button button-small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {tools} {tools === 1 ? 'tool' : 'tools'}
        </button>
        {reconnectable && (
          <button type="button" className="button button-small" onClick={() => setReconnecting(true)}>
            {transport === 'stdio' ? 'Restart' : 'Reconnect'}
          </button>
        )}
      </div>
      {isOpen && <ToolsOf provider={name} />}
      {isReconnecting && (
        <Confirm
          title={`${transport === 'stdio' ? 'Restart' : 'Reconnect'} ${shown(name)}`}
          consequence={
            (transport === 'stdio'
              ? 'The program is ended and started again. '
              : 'The connection is closed and opened again. ') +
            'A call that it is working on now may have taken effect, so its outcome becomes unknown. Workers in other ' +
            'processes have connections of their own.'
          }
          action={transport === 'stdio' ? 'Restart' : 'Reconnect'}
          run={() => reconnect(name)}
          onClose={() => setReconnecting(false)}
        />
      )}
    </li>
  )
}

async function reconnect(provider: string): Promise<void> {
  await client.providers.reconnect({ provider })
  for (const first of ['providers', 'tools']) void queryClient.invalidateQueries({ queryKey: [first] })
  const state = (await client.providers.list()).find(({ name }) => name === provider)
  if (state && !state.available) throw new Error(`It does not answer. ${state.problem ?? ''}`)
  notify('It is connected again.')
}

function ToolsOf({ provider }: { readonly provider: string }): ReactNode {
  const { data: tools = [] } = useQuery(toolsQuery)
  return (
    <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1">
      {tools
        .filter((tool) => tool.provider === provider)
        .map(({ id, name, quarantined }) => (
          <li key={id}>
            <Link href={toolPath(name)} className="text any font-mono text-sm">
              {shown(name)}
            </Link>
            {quarantined && <span className="text-sm text-stop"> changed</span>}
          </li>
        ))}
    </ul>
  )
}

function Hosts(): ReactNode {
  const [chosen, choose] = useState(hosts[0]?.command)
  const host = hosts.find(({ command }) => command === chosen)
  const url = `${location.origin}${basePath}/mcp`
  const text = host ? JSON.stringify(host.entry(url), null, 2) : ''
  return (
    <Section title="Use these tools in a host">
      <p className="mb-3 text-soft">
        Every call of the host then follows the policy, waits in the inbox and is recorded. It needs a token with the
        role caller.
      </p>
      <div className="mb-3 flex flex-wrap gap-2" role="group" aria-label="Host">
        {hosts.map(({ name, command }) => (
          <button
            key={command}
            type="button"
            className={`button button-small ${command === chosen ? 'bg-sunk' : ''}`}
            aria-pressed={command === chosen}
            onClick={() => choose(command)}
          >
            {name}
          </button>
        ))}
      </div>
      {host && (
        <>
          <p className="mb-1 text-sm text-soft">
            Add to <code className="any">{host.file}</code>:
          </p>
          <pre className="wrap mb-2 overflow-auto rounded-md bg-sunk p-3 text-sm" tabIndex={0} aria-label="the snippet">
            {text}
          </pre>
          <div className="mb-3 flex flex-wrap gap-2">
            <Copy text={text} label="Copy the snippet" />
          </div>
          <Command text="pawl tokens create my-host --role caller" />
          <p className="mt-4 mb-1 text-sm text-soft">
            Or let the host start the gateway as a program of its own. This prints what to add:
          </p>
          <Command text={`pawl mcp config ${host.command}`} />
        </>
      )}
    </Section>
  )
}
