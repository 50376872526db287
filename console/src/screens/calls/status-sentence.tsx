// The state of a call in words: how it ended and who decided, or for whom it waits, since when and until when.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { inboxQuery } from '../../shell/inbox-query.ts'
import { shown } from '../../ui/shown.ts'
import { Ago, clockTime, durationText, timeOfDay, useNow } from '../../ui/time.tsx'
import { type Call, statusWords, type Timeline } from './call-words.ts'

interface StatusSentenceProps {
  readonly call: Call
  readonly events: Timeline['events']
}

export function StatusSentence({ call, events }: StatusSentenceProps): ReactNode {
  return call.outcome && call.settledAt !== null ? (
    <>
      {endSentence(call)} {endNotes(call, events).join(' ')}
    </>
  ) : (
    <OpenSentence call={call} retryAt={retryOf(events, call.uid)} />
  )
}

function endSentence({ state, outcome, createdAt, settledAt, attempts }: Call): string {
  const code = outcome?.status === 'failure' ? outcome.failure.code : null
  const { text } = statusWords(state, outcome?.status ?? null, code)
  const tries = attempts > 1 ? ` and ${attempts} attempts` : ''
  return `${text} after ${durationText((settledAt ?? createdAt) - createdAt)}${tries}.`
}

const approvalPrefix = 'pawl:approval:'

function denialText(wait: string): string {
  if (wait.startsWith(approvalPrefix)) return 'denied it, and the tool did not run'
  return wait.startsWith('pawl:finding:') ? 'left the outcome unknown' : 'declined to answer'
}

/** Sentences about decisions, cancellations and crashes that led to the end. */
function endNotes({ uid, waits, outcome, attempts, takeovers }: Call, events: Timeline['events']): string[] {
  const notes: string[] = []
  const wait = waits.findLast(({ decision }) => decision !== undefined)
  const decision = wait?.decision
  if (wait && decision) {
    const people = decision.votes.map(({ by }) => shown(by)).join(', ')
    const isApproval = wait.name.startsWith(approvalPrefix)
    const reason = decision.votes.findLast((vote) => vote.reason !== undefined)?.reason
    if (decision.verb === 'deny')
      notes.push(`${people} ${denialText(wait.name)}${reason === undefined ? '' : `: “${shown(reason)}”`}.`)
    else if (decision.verb === 'edit') notes.push(`${people} changed the arguments and approved it.`)
    else if (decision.verb === 'answer' && isApproval && attempts === 0)
      notes.push(`${people} answered instead of the tool. The tool did not run.`)
    else if (decision.verb === 'answer') notes.push(`${people} answered it.`)
    else notes.push(`${people} approved it.`)
  }
  const rule = events.findLast((event) => event.call === uid && event.type === 'decision.remembered')
  const { by, decision: ruleDecision } = (rule?.body ?? {}) as { readonly by?: unknown; readonly decision?: unknown }
  if (typeof by === 'string')
    notes.push(`A rule that ${shown(by)} added ${ruleDecision === 'deny' ? 'denied it' : 'let it run without asking'}.`)
  const made = events.findLast((event) => event.call === uid && event.type === 'decision.made')
  if (made && 'remembered' in made.body) notes.push('The decision also added a rule for such calls; see Policy.')
  if (outcome?.status === 'cancelled') {
    const cancelling = events.findLast(({ type }) => type === 'call.cancelling')?.body as { by?: unknown } | undefined
    if (typeof cancelling?.by === 'string') notes.push(`${shown(cancelling.by)} cancelled it.`)
  }
  if (takeovers > 0)
    notes.push(
      `⚡ ${takeovers === 1 ? 'Its worker stopped' : `Its workers stopped ${takeovers} times`} while it ran` +
        `${outcome?.status === 'success' ? ', and another one finished it' : ''}.`,
    )
  return notes
}

/** When a call that failed is tried again; null if its last event is another one. */
function retryOf(events: Timeline['events'], call: string): number | null {
  const last = events.findLast((event) => event.call === call)
  const { until } = (last?.body ?? {}) as { readonly until?: unknown }
  return last?.type === 'call.queued' && typeof until === 'number' ? until : null
}

interface OpenSentenceProps {
  readonly call: Call
  readonly retryAt: number | null
}

function OpenSentence({ call, retryAt }: OpenSentenceProps): ReactNode {
  const now = useNow()
  const { data: inbox } = useQuery(inboxQuery)
  const { state, createdAt, startedAt, attempts, worker } = call
  const item = inbox?.find((each) => each.call === call.uid || each.under.includes(call.uid))
  if (item)
    return (
      <>
        It has been waiting for a person since <Ago at={item.askedAt} />, until {clockTime(item.expiresAt)}:{' '}
        <Link href={`/inbox/${item.id}`} className="text">
          {item.preview.summary}
        </Link>
      </>
    )
  if (worker === 'lost')
    return (
      <strong className="text-wait">
        ⚡ The worker stopped during attempt {attempts}. Another worker continues the call as soon as one is free.
      </strong>
    )
  const wait = call.waits.find((each) => each.state === 'open')
  const sleep = call.sleeps.findLast(({ until }) => until > now)
  if (state === 'parked' && wait)
    return `It has been waiting for a result for ${durationText(now - wait.createdAt)}, until ${clockTime(wait.deadline)}.`
  if (state === 'running' && sleep) return `It sleeps until ${clockTime(sleep.until)}.`
  if (state === 'running' && startedAt !== null)
    return `Attempt ${attempts} has been running for ${durationText(Math.max(0, now - startedAt))}.`
  if (retryAt !== null && retryAt > now) return `It failed, and is tried again at ${timeOfDay(retryAt)}.`
  return `It has been waiting for a worker for ${durationText(now - createdAt)}. Calls need a worker that has the tool.`
}
