// Follows the events of the tenant. An event makes the queries stale that may show something else now; they are read
// again at most a few times a second.

import type { StreamEvent } from 'pawl/client'
import { client, isSignedOut, queryClient } from './client.ts'
import { onConnectionChange, readConnection } from './connection.ts'

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
  definition: ['tools', 'quarantine', 'providers'],
  token: ['system'],
  session: ['session', 'sessions'],
}

const pauseMs = 200
let stale = new Set<string>()
/** Sessions with new events. The time lines of their calls are read again; others are not, because they cost more. */
let sessions = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

function refresh(): void {
  timer = undefined
  const [keys, changed] = [stale, sessions]
  const isStale = ({ queryKey: [first, , session] }: { readonly queryKey: readonly unknown[] }): boolean =>
    first === 'timeline' ? changed.has(String(session)) : keys.has(String(first))
  // A read that is under way would be cancelled, and under constant events none would ever end.
  if (queryClient.isFetching({ predicate: isStale }) > 0) {
    timer = setTimeout(refresh, pauseMs)
    return
  }
  stale = new Set()
  sessions = new Set()
  void queryClient.invalidateQueries({ predicate: isStale })
}

function handle(event: StreamEvent): void {
  if (event.type === 'reset') return void queryClient.invalidateQueries()
  const keys = affected[event.type.split('.')[0] ?? ''] ?? []
  // The end of a call withdraws what it had asked.
  for (const key of event.type === 'call.settled' ? [...keys, 'inbox', 'item'] : keys) stale.add(key)
  sessions.add(event.session)
  timer ??= setTimeout(refresh, pauseMs)
  if (event.type !== 'decision.made') return
  const { wait, by, decision, votes } = event.body
  if (votes && votes.have < votes.need && decision !== 'deny') return
  for (const listener of decisionListeners) listener(wait, { by, decision })
}

let reconnect: (() => void) | null = null
/** Connects at once, instead of after the pause between two attempts. */
export const reconnectNow = (): void => reconnect?.()

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Follows until the returned function is called. `onSignedOut`: the login has ended. */
export function followEvents(onSignedOut: () => void): () => void {
  const stop = new AbortController()
  let connection = new AbortController()
  reconnect = () => connection.abort()
  stop.signal.addEventListener('abort', () => connection.abort())
  const stopListening = onConnectionChange(() => {
    if (readConnection().state === 'live') void queryClient.invalidateQueries()
  })
  const follow = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      connection = new AbortController()
      try {
        for await (const event of client.events.stream({ after: 'now' }, { signal: connection.signal })) handle(event)
      } catch (error) {
        if (isSignedOut(error)) return onSignedOut()
        await pause(2_000)
      }
    }
  }
  void follow()
  return () => {
    stopListening()
    stop.abort()
  }
}
