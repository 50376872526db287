// All calls, newest first: a live table whose rows are read and drawn as they are scrolled to. Filters are in the URL.

import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, type MouseEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { basePath, client, queryClient } from '../../api/client.ts'
import { useQueryFields } from '../../ui/address.ts'
import { useKeys } from '../../ui/keys.ts'
import { Empty } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, durationText, useNow } from '../../ui/time.tsx'
import { callCommand, useExampleCall } from '../tools/example-call.ts'
import { BulkCancel } from './bulk-cancel.tsx'
import { BulkRetry } from './bulk-retry.tsx'
import { type CallPage, readCallPage } from './call-pages.ts'
import { type CallRow, nameOf, statusWords } from './call-words.ts'
import { quoted } from './commands.ts'
import { FilterBar, type Filters, instantText, statusText, wantedOf } from './filter-bar.tsx'
import { VolumeStrip } from './volume.tsx'

const pageSize = 100
/** Three lines on a phone. */
const rowHeight = window.matchMedia('(min-width: 48rem)').matches ? 60 : 84

export function CallsScreen(): ReactNode {
  usePageTitle('Calls')
  const [search, setSearch] = useQueryFields()
  const filters: Filters = {
    status: statusText(search.get('status')),
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
  const queryKey = ['calls', filters]
  const read = (before: string | null) =>
    client.calls.recent({ ...wanted, limit: pageSize, ...(before === null ? {} : { before }) })
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => {
      const old = queryClient.getQueryData<InfiniteData<CallPage, string | null>>(queryKey)
      return readCallPage(pageParam, old?.pages[old.pageParams.indexOf(pageParam)], read)
    },
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
  const calls = useMemo(() => query.data?.pages.flatMap((page) => page.calls) ?? [], [query.data])
  const box = useRef<HTMLDivElement>(null)
  const [, navigate] = useLocation()
  /** The uid: new calls move the rows. */
  const [currentUid, setCurrentUid] = useState<string | null>(null)
  const current = calls.findIndex(({ uid }) => uid === currentUid)
  const rows = useVirtualizer({
    count: calls.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 6,
  })
  const items = rows.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  useEffect(() => {
    if (last >= calls.length - 20 && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [last, calls.length, hasNextPage, isFetchingNextPage, fetchNextPage])
  const moveTo = (index: number): void => {
    const next = Math.min(Math.max(index, 0), calls.length - 1)
    setCurrentUid(calls[next]?.uid ?? null)
    rows.scrollToIndex(next)
  }
  useKeys({
    j: () => moveTo(current + 1),
    k: () => moveTo(current - 1),
    Enter: calls[current] && (() => navigate(`/calls/${calls[current]?.uid ?? ''}`)),
  })
  /** One listener for all rows. With a modifier the browser opens the link, such as in a new tab. */
  const openRow = (event: MouseEvent): void => {
    const path = (event.target as Element).closest<HTMLElement>('a[data-path]')?.dataset.path
    if (path === undefined || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(path)
  }
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  if (calls.length === 0 && !hasNextPage) return <NoCalls filters={filters} isFiltered={isFiltered} />
  return (
    <>
      {isFiltered && (
        <div className="mb-2 flex flex-wrap gap-2">
          <BulkCancel calls={calls} isWhole={!hasNextPage} />
          <BulkRetry calls={calls} />
        </div>
      )}
      <div ref={box} className="panel min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Calls">
        <ol className="relative" style={{ height: rows.getTotalSize() }} onClick={openRow}>
          {items.map(({ index, start }) => (
            <Row key={calls[index]?.uid} call={calls[index] as CallRow} top={start} isCurrent={index === current} />
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
      {isFiltered ? 'Clear the filters, or run a call that matches.' : 'A call appears here as soon as it is made.'}
    </Empty>
  )
}

interface RowProps {
  readonly call: CallRow
  readonly top: number
  readonly isCurrent: boolean
}

/** Drawn again only if it changes: while the list is scrolled, most rows stay as they are. */
const Row = memo(function Row({ call, top, isCurrent }: RowProps): ReactNode {
  const { text, tone } = statusWords(call.state, call.status, call.code)
  const about = [`${call.session}${call.principal === null ? '' : ` for ${call.principal}`}`, call.message ?? '']
  return (
    <li
      className={`absolute inset-x-0 border-b border-line ${isCurrent ? 'bg-sunk' : ''}`}
      style={{ top, height: rowHeight }}
    >
      <a
        href={`${basePath}/calls/${call.uid}`}
        data-path={`/calls/${call.uid}`}
        className="grid h-full grid-cols-[1fr_auto] content-center gap-x-4 px-3 hover:bg-sunk md:grid-cols-[10rem_1fr_auto]"
      >
        <span className="order-2 justify-self-end md:order-none md:justify-self-start">
          <Badge tone={tone}>{text}</Badge>
        </span>
        <span className="order-1 min-w-0 md:order-none">
          <span className="block truncate">
            <span className="font-medium">{nameOf(shown(call.name))}</span> <Again call={call} />
          </span>
          <span className="block truncate text-sm text-soft">
            {shown(about.filter((each) => each !== '').join(' · '))}
          </span>
        </span>
        <span className="order-3 text-sm whitespace-nowrap text-soft max-md:col-span-2 md:text-right">
          <Ago at={call.createdAt} />
          <span className="md:hidden">, </span>
          <span className="md:block">
            <Took call={call} />
          </span>
        </span>
      </a>
    </li>
  )
})

function Again({ call: { attempts } }: { readonly call: CallRow }): ReactNode {
  return attempts > 1 ? <span className="text-sm text-soft">{attempts} attempts</span> : null
}

function Took({ call: { createdAt, settledAt } }: { readonly call: CallRow }): ReactNode {
  return settledAt === null ? <Running since={createdAt} /> : `took ${durationText(settledAt - createdAt)}`
}

const Running = ({ since }: { readonly since: number }): ReactNode =>
  `open for ${durationText(Math.max(0, useNow() - since))}`
