// All calls, newest first: a live table whose rows are read and drawn as they are scrolled to. Filters are in the URL.

import { useInfiniteQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { client } from '../../api/client.ts'
import { useQueryFields } from '../../ui/address.ts'
import { useKeys } from '../../ui/keys.ts'
import { Badge, Empty, Failed, Loading, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, durationText, useNow } from '../../ui/time.tsx'
import { callCommand, useExampleCall } from '../tools/example-call.ts'
import { BulkCancel } from './bulk-cancel.tsx'
import { BulkRetry } from './bulk-retry.tsx'
import { type CallRow, nameOf, statusWords } from './call-words.ts'
import { quoted } from './commands.ts'
import { FilterBar, type Filters, instantText, wantedOf } from './filter-bar.tsx'
import { VolumeStrip } from './volume.tsx'

const pageSize = 100
/** Phones show a call in two lines. */
const rowHeight = 60

export function CallsScreen(): ReactNode {
  usePageTitle('Calls')
  const [search, setSearch] = useQueryFields()
  const filters: Filters = {
    status: search.get('status') ?? '',
    tool: search.get('tool') ?? '',
    session: search.get('session') ?? '',
    since: instantText(search.get('since')),
    until: instantText(search.get('until')),
  }
  const set = (changes: Partial<Filters>): void => {
    const next = new URLSearchParams(search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') next.delete(name)
      else next.set(name, value)
    }
    setSearch(next)
  }
  const isFiltered = Object.values(filters).some((value) => value !== '')
  return (
    <div className="flex h-[calc(100dvh-5rem)] min-h-96 flex-col md:h-[calc(100dvh-3rem)]">
      <ScreenTitle>Calls</ScreenTitle>
      <VolumeStrip
        filters={wantedOf(filters)}
        choose={(since, until) => set({ since: String(since), until: String(until) })}
      />
      <FilterBar filters={filters} set={set} clear={isFiltered ? () => setSearch(new URLSearchParams()) : null} />
      <Table key={JSON.stringify(filters)} filters={filters} isFiltered={isFiltered} />
    </div>
  )
}

function useCalls(filters: Filters) {
  const wanted = wantedOf(filters)
  return useInfiniteQuery({
    queryKey: ['calls', filters],
    queryFn: ({ pageParam }) =>
      client.calls.recent({
        ...wanted,
        limit: pageSize,
        ...(pageParam === null ? {} : { before: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  })
}

interface TableProps {
  readonly filters: Filters
  readonly isFiltered: boolean
}

function Table({ filters, isFiltered }: TableProps): ReactNode {
  const query = useCalls(filters)
  const calls = query.data?.pages.flatMap((page) => page.calls) ?? []
  const box = useRef<HTMLDivElement>(null)
  const [, navigate] = useLocation()
  const [current, setCurrent] = useState(-1)
  const rows = useVirtualizer({
    count: calls.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  const items = rows.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  useEffect(() => {
    if (last >= calls.length - 20 && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [last, calls.length, hasNextPage, isFetchingNextPage, fetchNextPage])
  const moveTo = (index: number): void => {
    const next = Math.min(Math.max(index, 0), calls.length - 1)
    setCurrent(next)
    rows.scrollToIndex(next)
  }
  useKeys({
    j: () => moveTo(current + 1),
    k: () => moveTo(current - 1),
    Enter: calls[current] && (() => navigate(`/calls/${calls[current]?.uid ?? ''}`)),
  })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  if (calls.length === 0 && !hasNextPage) return <NoCalls filters={filters} isFiltered={isFiltered} />
  return (
    <>
      {isFiltered && (
        <div className="mb-2 flex flex-wrap gap-2">
          <BulkCancel calls={calls} />
          <BulkRetry calls={calls} />
        </div>
      )}
      <div ref={box} className="panel min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Calls">
        <ol className="relative" style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, start }) => (
            <Row key={calls[index]?.uid} call={calls[index] as CallRow} start={start} isCurrent={index === current} />
          ))}
        </ol>
        {isFetchingNextPage && <Loading />}
      </div>
    </>
  )
}

function NoCalls({ filters, isFiltered }: TableProps): ReactNode {
  const { session, tool } = filters
  const example = useExampleCall(({ name, hints }) => (tool === '' ? hints?.readOnly === true : name === tool))
  const command = `${callCommand(example)}${example && session !== '' ? ` --session ${quoted(session)}` : ''}`
  return (
    <Empty title={isFiltered ? 'No call matches' : 'No calls yet'} command={command}>
      {isFiltered ? 'Change the filters, or run a call that matches.' : 'A call appears here as soon as it is made.'}
    </Empty>
  )
}

interface RowProps {
  readonly call: CallRow
  readonly start: number
  readonly isCurrent: boolean
}

function Row({ call, start, isCurrent }: RowProps): ReactNode {
  const { text, tone } = statusWords(call.state, call.status)
  return (
    <li
      className={`absolute inset-x-0 border-b border-line ${isCurrent ? 'bg-sunk' : ''}`}
      style={{ top: start, height: rowHeight }}
    >
      <Link
        href={`/calls/${call.uid}`}
        className="grid h-full grid-cols-[1fr_auto] content-center gap-x-4 px-3 hover:bg-sunk md:grid-cols-[9rem_1fr_auto]"
      >
        <span className="order-2 justify-self-end md:order-none md:justify-self-start">
          <Badge tone={tone}>{text}</Badge>
        </span>
        <span className="order-1 min-w-0 md:order-none">
          <span className="block truncate font-medium">{nameOf(shown(call.name))}</span>
          <span className="block truncate text-sm text-soft">
            {shown(call.message ?? `${call.session}${call.principal === null ? '' : ` for ${call.principal}`}`)}
          </span>
        </span>
        <span className="order-3 text-right text-sm whitespace-nowrap text-soft max-md:hidden">
          <Ago at={call.createdAt} />
          <span className="block">
            <Took call={call} />
          </span>
        </span>
      </Link>
    </li>
  )
}

function Took({ call: { createdAt, settledAt, attempts } }: { readonly call: CallRow }): ReactNode {
  const again = attempts > 1 ? `${attempts} attempts, ` : ''
  return settledAt === null ? (
    <>
      {again}
      <Running since={createdAt} />
    </>
  ) : (
    `${again}${durationText(settledAt - createdAt)}`
  )
}

const Running = ({ since }: { readonly since: number }): ReactNode => `for ${durationText(useNow() - since)}`
