// One call: what became of it, how its time passed, its input and result, its steps, waits and events.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { basePath, client, isMissing, messageOf, queryClient } from '../../api/client.ts'
import { formText } from '../../forms/form-text.ts'
import { inboxQuery } from '../../shell/frame.tsx'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Badge, Copy, Dialog, Failed, Loading, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, clockTime, durationText, exactTime, Time, useNow } from '../../ui/time.tsx'
import { Arguments, Json } from '../../ui/values.tsx'
import { decidedWords } from '../inbox/item-words.ts'
import { nameOf, statusWords } from './call-words.ts'
import { asCommand, asCurl, asTest } from './commands.ts'
import { RerunOf, Retry } from './retry.tsx'
import { type Timeline, Waterfall } from './waterfall.tsx'

type Call = Awaited<ReturnType<typeof client.calls.find>>

export function CallScreen({ uid }: { readonly uid: string }): ReactNode {
  const query = useQuery({ queryKey: ['call', uid], queryFn: () => client.calls.find({ call: uid }) })
  const name = query.data ? nameOf(shown(query.data.name)) : 'Call'
  usePageTitle(name)
  if (isMissing(query.error))
    return (
      <>
        <ScreenTitle>There is no such call</ScreenTitle>
        <p className="text-soft">
          It was deleted, or belongs to another tenant. <BackToCalls />
        </p>
      </>
    )
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  return <CallPage call={query.data} name={name} />
}

const BackToCalls = (): ReactNode => (
  <Link href="/calls" className="text text-sm">
    Calls
  </Link>
)

function CallPage({ call, name }: { readonly call: Call; readonly name: string }): ReactNode {
  const { text, tone } = statusWords(call.state, call.outcome?.status ?? null)
  const timeline = useQuery({
    queryKey: ['timeline', call.uid, call.session],
    queryFn: () => client.calls.timeline({ call: call.uid }),
  })
  return (
    <>
      <ScreenTitle aside={<BackToCalls />}>
        <Badge tone={tone}>{text}</Badge> {name}
      </ScreenTitle>
      <section className="panel mb-4 p-4" aria-label="Status">
        <p className="any mb-2">
          <StatusSentence call={call} />
        </p>
        <p className="any mb-3 text-sm text-soft">
          <Link href={`/sessions/${encodeURIComponent(call.session)}`} className="text">
            {shown(call.session)}
          </Link>
          {call.principal !== null && ` for ${shown(call.principal)}`} ·{' '}
          <Time at={call.createdAt}>{clockTime(call.createdAt)}</Time> · <code>{call.uid}</code>
          <RerunOf call={call} />
        </p>
        <Actions call={call} />
      </section>
      <Section title="Time line">
        {timeline.error && !timeline.data ? <Failed error={timeline.error} /> : null}
        {timeline.data && <Waterfall timeline={timeline.data} />}
      </Section>
      <div className="grid gap-x-4 lg:grid-cols-2">
        <div className="min-w-0">
          <Section title="Input">
            <Arguments value={call.input} />
          </Section>
        </div>
        <div className="min-w-0">
          <Outcome call={call} />
        </div>
      </div>
      <Steps call={call} />
      {timeline.data && <Events timeline={timeline.data} call={call.uid} />}
    </>
  )
}

/** The status in words: for whom it waits, since when, until when. */
function StatusSentence({ call }: { readonly call: Call }): ReactNode {
  const now = useNow()
  const { data: inbox } = useQuery(inboxQuery)
  const { state, outcome, createdAt, startedAt, settledAt, attempts } = call
  if (outcome && settledAt !== null) {
    const { text } = statusWords(state, outcome.status)
    const tries = attempts > 1 ? ` and ${attempts} attempts` : ''
    return `${text} after ${durationText(settledAt - createdAt)}${tries}.`
  }
  const item = inbox?.find((each) => each.call === call.uid || each.under.includes(call.uid))
  if (item)
    return (
      <>
        It waits for a person since <Ago at={item.askedAt} />:{' '}
        <Link href={`/inbox/${item.id}`} className="text">
          {item.preview.summary}
        </Link>{' '}
        Until {clockTime(item.expiresAt)}.
      </>
    )
  const wait = call.waits.find((each) => each.state === 'open')
  if (state === 'parked' && wait)
    return `It waits for a result since ${durationText(now - wait.createdAt)}, until ${clockTime(wait.deadline)}.`
  if (state === 'running' && startedAt !== null) return `Attempt ${attempts} runs for ${durationText(now - startedAt)}.`
  return `It waits for its turn for ${durationText(now - createdAt)}. Calls need a worker that has the tool.`
}

function Actions({ call }: { readonly call: Call }): ReactNode {
  const mayCall = useMay('call')
  const [isCancelling, setCancelling] = useState(false)
  return (
    <div className="flex flex-wrap gap-2">
      {mayCall && call.settledAt === null && (
        <button type="button" className="button" onClick={() => setCancelling(true)}>
          Cancel
        </button>
      )}
      {!call.name.startsWith('pawl:') && (
        <>
          {mayCall && (
            <>
              <Retry call={call} />
              <Link href={`/tools/${encodeURIComponent(call.name)}?from=${call.uid}`} className="button button-small">
                Run again with edits
              </Link>
            </>
          )}
          <Copy text={asCommand(call)} label="Copy as command" />
          <Copy text={asCurl(`${location.origin}${basePath}`, call)} label="Copy as curl" />
          <Copy text={asTest(call)} label="Copy as test" />
        </>
      )}
      {isCancelling && <Cancel call={call} onClose={() => setCancelling(false)} />}
    </div>
  )
}

function Cancel({ call, onClose }: { readonly call: Call; readonly onClose: () => void }): ReactNode {
  const [problem, setProblem] = useState<string | null>(null)
  const cancel = async (reason: string): Promise<void> => {
    try {
      const { session, uid } = call
      const { answer } = await client.calls.cancel({ session, call: uid, ...(reason === '' ? {} : { reason }) })
      notify(answer === 'cancelled' ? 'The cancellation is recorded.' : 'The call had ended before.')
      void queryClient.invalidateQueries({ queryKey: ['call', uid] })
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <Dialog title={`Cancel ${nameOf(shown(call.name))}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void cancel(formText(new FormData(event.currentTarget), 'reason'))
        }}
      >
        <p className="mb-3 text-soft">
          Its body is asked to stop, and what it has started is cancelled with it. What has already happened outside
          stays. A result that arrives before the end of its grace period still counts.
        </p>
        <label className="mb-3 block">
          <span className="mb-1 block font-medium">Reason (optional)</span>
          <textarea name="reason" rows={2} maxLength={1_000} className="field" data-autofocus />
        </label>
        {problem !== null && (
          <p role="alert" className="wrap mb-3 text-stop">
            {problem}
          </p>
        )}
        <div className="flex gap-2">
          <button type="submit" className="button button-stop">
            Cancel the call
          </button>
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function Outcome({ call: { outcome } }: { readonly call: Call }): ReactNode {
  if (!outcome)
    return (
      <Section title="Result">
        <p className="text-soft">There is none yet.</p>
      </Section>
    )
  if (outcome.status === 'success')
    return (
      <Section title="Result">
        <Json value={outcome.value} label="the result" />
      </Section>
    )
  if (outcome.status === 'failure') {
    const { code, message, retry } = outcome.failure
    return (
      <Section title="Error">
        <p className="wrap mb-2">{shown(message)}</p>
        <p className="any text-sm text-soft">
          <code>{code}</code>
          {retry.when === 'exhausted' && `, after ${retry.attempts} attempts`}
          {outcome.failure.mayStillRun === true && '. The body may still be running.'}
        </p>
      </Section>
    )
  }
  if (outcome.status === 'cancelled')
    return (
      <Section title="Cancelled">
        <p className="wrap">{shown(outcome.cancellation.message)}</p>
      </Section>
    )
  return (
    <Section title="Unknown outcome">
      <p className="wrap mb-2">{shown(outcome.unknown.message)}</p>
      <p className="text-sm text-soft">
        The attempt began at {exactTime(outcome.unknown.startedAt)}. Nothing says whether it took effect.
      </p>
    </Section>
  )
}

function Steps({ call: { steps, waits } }: { readonly call: Call }): ReactNode {
  if (steps.length === 0 && waits.length === 0) return null
  return (
    <Section title="Steps and waits">
      <ol className="divide-y divide-line">
        {steps.map(({ id, state, at, round }) => (
          <li key={`step ${id}`} className="flex flex-wrap justify-between gap-x-4 py-1.5">
            <span className="any">
              {shown(id)} <span className="text-sm text-soft">step, {state}</span>
            </span>
            <span className="text-sm text-soft">
              {round > 1 ? `round ${round}, ` : ''}
              <Time at={at}>{clockTime(at)}</Time>
            </span>
          </li>
        ))}
        {waits.map(({ id, name, state, createdAt, deadline, decision }) => (
          <li key={`wait ${id}`} className="flex flex-wrap justify-between gap-x-4 py-1.5">
            <span className="any">
              {shown(name)} <span className="text-sm text-soft">wait, {state}</span>
              {decision && (
                <span className="block text-sm">
                  {decision.votes.map(({ by }) => shown(by)).join(', ')} {decidedWords[decision.verb] ?? 'decided'}
                </span>
              )}
            </span>
            <span className="text-sm text-soft">
              <Time at={createdAt}>{clockTime(createdAt)}</Time>, until <Time at={deadline}>{clockTime(deadline)}</Time>
            </span>
          </li>
        ))}
      </ol>
    </Section>
  )
}

const factsOf = (body: Readonly<Record<string, unknown>>): string =>
  Object.entries(body)
    .map(
      ([name, value]) => `${name} ${typeof value === 'string' ? value.replace(/^step:/, '') : JSON.stringify(value)}`,
    )
    .join(', ')

function Events({ timeline, call }: { readonly timeline: Timeline; readonly call: string }): ReactNode {
  return (
    <Section title="Events">
      <ol className="divide-y divide-line">
        {timeline.events.map((event, index) => (
          <li key={`${index} ${event.type}`} className="grid gap-x-4 py-1.5 sm:grid-cols-[12rem_1fr_auto]">
            <code className="any text-sm">{event.type}</code>
            <span className="any text-sm text-soft">
              {event.call === call ? '' : 'in a call under it: '}
              {shown(factsOf(event.body))}
            </span>
            <span className="text-sm text-soft">
              <Time at={event.at}>{new Date(event.at).toLocaleTimeString()}</Time>
            </span>
          </li>
        ))}
      </ol>
      {timeline.omitted > 0 && (
        <p className="mt-2 text-sm text-soft">
          {timeline.omitted} more calls and events are not shown. The export of the session has them.
        </p>
      )}
    </Section>
  )
}
