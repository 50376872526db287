// The catalogue: every tool of the runtime, by name, title or description.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useQueryFields } from '../../ui/address.ts'
import { Empty } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { deepShown } from '../../ui/shown.ts'
import { type Listing, toolPath, toolsQuery } from './catalogue.ts'

export function ToolsScreen(): ReactNode {
  usePageTitle('Tools')
  const query = useQuery(toolsQuery)
  const [search, setSearch] = useQueryFields()
  const wanted = (search.get('q') ?? '').toLowerCase()
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  const tools = query.data.filter(
    ({ internal, name, title = '', description }) =>
      !internal && `${name} ${title} ${description}`.toLowerCase().includes(wanted),
  )
  return (
    <>
      <ScreenTitle>Tools</ScreenTitle>
      {query.data.some(({ internal }) => !internal) ? (
        <>
          <label className="mb-3 block max-w-sm">
            <span className="block text-sm text-soft">Search</span>
            <input
              type="search"
              className="field"
              value={search.get('q') ?? ''}
              onChange={({ target }) => setSearch(new URLSearchParams(target.value === '' ? {} : { q: target.value }))}
            />
          </label>
          {tools.length === 0 && <p className="text-soft">No tool matches.</p>}
          <ul className="flex flex-col gap-2">
            {tools.map((tool) => (
              <Row key={tool.id} tool={tool} />
            ))}
          </ul>
        </>
      ) : (
        <Empty title="This server has no tools" command="pawl init">
          List them in pawl.config.ts, then start the server again.
        </Empty>
      )}
    </>
  )
}

function Row({ tool }: { readonly tool: Listing }): ReactNode {
  const { title, description, provider, hints = {} } = deepShown(tool)
  return (
    <li className="panel p-3">
      <p className="flex flex-wrap items-center gap-2">
        <Link href={toolPath(tool.name)} className="any font-mono font-medium underline-offset-2 hover:underline">
          {deepShown(tool.name)}
        </Link>
        {provider !== undefined && <span className="text-sm text-soft">from {provider}</span>}
        <HintBadges hints={hints} />
        {!tool.available && <Badge tone="stop">Not available</Badge>}
        {tool.quarantined && <Badge tone="stop">Changed, not accepted</Badge>}
      </p>
      {title !== undefined && <p className="any">{title}</p>}
      <p className="any line-clamp-2 text-sm text-soft">{description}</p>
    </li>
  )
}

/** The names of the runtime (`readOnly`) or those of MCP (`readOnlyHint`). */
export function HintBadges({ hints: given }: { readonly hints: object }): ReactNode {
  const hints = given as Readonly<Record<string, unknown>>
  return (
    <>
      {(hints.destructive ?? hints.destructiveHint) === true && <Badge tone="wait">Destructive</Badge>}
      {(hints.readOnly ?? hints.readOnlyHint) === true && <Badge tone="go">Read-only</Badge>}
      {(hints.openWorld ?? hints.openWorldHint) === true && <Badge tone="wait">Open world</Badge>}
      {(hints.idempotent ?? hints.idempotentHint) === true && <Badge>Idempotent</Badge>}
    </>
  )
}
