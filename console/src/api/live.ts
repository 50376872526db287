// Follows the events of the tenant. An event makes the queries stale that may show something else now; they are read
// again at most a few times a second, and in a hidden tab when it is seen again.

import type { Query } from '@tanstack/react-query'
import type { StreamEvent } from 'pawl/client'
import { forgetChanges, noteCall } from './changed-calls.ts'
import { queryClient } from './client.ts'
import { onConnectionChange, readConnection } from './connection.ts'
import { followStream, reconnectNow } from './shared-stream.ts'

/** A decision that is made while the page is open. */
export interface NewDecision {
  readonly by: string
  readonly decision: string
}

type DecisionListener = (item: string, decision: NewDecision) => void

const decisionListeners = new Set<DecisionListener>()

export function onDecision(listener: DecisionListener): () => void {
  decisionListeners.add(listener)
  return () => decisionListeners.delete(listener)
}

/** First parts of query keys, by the first part of an event's type. */
const affected: Readonly<Record<string, readonly string[]>> = {
  call: ['calls', 'call', 'sessions', 'tasks', 'task', 'tools'],
  step: ['call'],
  wait: ['inbox', 'item', 'ended-item', 'call', 'calls', 'session'],
  decision: ['inbox', 'item', 'ended-item', 'item-context', 'call', 'rules'],
  rule: ['rules', 'item-context'],
  turn: ['session', 'sessions', 'messages', 'calls', 'call'],
  message: ['messages', 'session'],
  task: ['tasks', 'task', 'call'],
  schedule: ['schedules'],
  token: ['system'],
  session: ['session', 'sessions'],
}

const pauseMs = 200
/** A hidden tab reads the inbox, whose count is in its title, and nothing else. */
const hiddenPauseMs = 15_000
const longListPauseMs = 10_000

/** `meta` of a list in pages that are all read again: with several of them that is done less often. */
export const slowIfLong = { isSlowIfLong: true } as const

let stale = new Set<string>()
let isAllStale = false
/** Sessions with new events. The time lines of their calls are read again; others are not, because they cost more. */
let sessions = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

const plan = (): void => void (timer ??= setTimeout(refresh, document.hidden ? hiddenPauseMs : pauseMs))

function isStale({ queryKey: [first, , session] }: Query): boolean {
  return first === 'timeline' ? sessions.has(String(session)) : stale.has(String(first))
}

/** How long a query has to wait before it is read again; 0 if it need not wait. */
function waitOf({ meta, state: { data, dataUpdatedAt } }: Query): number {
  const pages = (data as { readonly pages?: readonly unknown[] } | undefined)?.pages ?? []
  if (meta?.isSlowIfLong !== true || pages.length <= 1) return 0
  return Math.max(0, dataUpdatedAt + longListPauseMs - Date.now())
}

/** Long lists that are read again later, by their hash. */
const delayed = new Map<string, ReturnType<typeof setTimeout>>()

function refreshLater({ queryHash }: Query, ms: number): void {
  if (delayed.has(queryHash)) return
  const run = (): void => {
    delayed.delete(queryHash)
    if (document.hidden) isAllStale = true
    else void queryClient.invalidateQueries({ predicate: (query) => query.queryHash === queryHash })
  }
  delayed.set(queryHash, setTimeout(run, ms))
}

function refresh(): void {
  clearTimeout(timer)
  timer = undefined
  if (document.hidden) {
    if (stale.delete('inbox')) void queryClient.invalidateQueries({ queryKey: ['inbox'] })
    return
  }
  if (isAllStale) return refreshAll()
  // A read that is under way would be cancelled, and under constant events none would ever end.
  if (queryClient.isFetching({ predicate: isStale }) > 0) return plan()
  const later = new Set<string>()
  for (const query of queryClient.getQueryCache().findAll({ type: 'active', predicate: isStale })) {
    const ms = waitOf(query)
    if (ms === 0) continue
    later.add(query.queryHash)
    refreshLater(query, ms)
  }
  void queryClient.invalidateQueries({ predicate: (query) => isStale(query) && !later.has(query.queryHash) })
  stale = new Set()
  sessions = new Set()
}

/** Events may have been missed. */
export function refreshAll(): void {
  forgetChanges()
  isAllStale = document.hidden
  stale = new Set(document.hidden ? ['inbox'] : [])
  sessions = new Set()
  if (document.hidden) plan()
  else void queryClient.invalidateQueries()
}

function handle(event: StreamEvent): void {
  if (event.type === 'reset') return refreshAll()
  const keys = affected[event.type.split('.')[0] ?? ''] ?? []
  // The end of a call withdraws what it had asked.
  for (const key of event.type === 'call.settled' ? [...keys, 'inbox', 'item'] : keys) stale.add(key)
  sessions.add(event.session)
  if (event.call !== '') noteCall(event.call)
  plan()
  if (event.type !== 'decision.made') return
  const { wait, by, decision, votes } = event.body
  if (votes && votes.have < votes.need && decision !== 'deny') return
  for (const listener of decisionListeners) listener(wait, { by, decision })
}

/** Follows until the returned function is called. `owner`: the person and the tenant. */
export function followEvents(owner: string): () => void {
  const stopListening = onConnectionChange(() => {
    if (readConnection().state === 'live') refreshAll()
  })
  const onVisible = (): void => {
    if (document.hidden) return
    if (readConnection().state === 'lost') reconnectNow()
    refresh()
  }
  document.addEventListener('visibilitychange', onVisible)
  const stop = followStream(owner, handle)
  return () => {
    stop()
    stopListening()
    document.removeEventListener('visibilitychange', onVisible)
  }
}
