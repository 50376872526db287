// A list that is read in pages: the state of its first page, and a button that reads the next one.

import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { slowIfLong } from '../api/live.ts'
import { Failed, Loading } from './parts.tsx'

interface PagesProps<Page extends { readonly next: string | null }> {
  readonly queryKey: readonly unknown[]
  readonly read: (cursor: string | null) => Promise<Page>
  /** Label of the button that reads the next page. */
  readonly more: string
  /** `isWhole`: there are no further pages. */
  readonly children: (pages: readonly Page[], isWhole: boolean) => ReactNode
}

export function Pages<Page extends { readonly next: string | null }>(props: PagesProps<Page>): ReactNode {
  const { queryKey, read, more, children } = props
  const query = useInfiniteQuery<Page, Error, InfiniteData<Page>, readonly unknown[], string | null>({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: null,
    getNextPageParam: (page) => page.next,
    meta: slowIfLong,
  })
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  return (
    <>
      {children(query.data.pages, !query.hasNextPage)}
      {query.hasNextPage && (
        <button
          type="button"
          className="button mt-3"
          disabled={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {more}
        </button>
      )}
    </>
  )
}
