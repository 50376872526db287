// One call: its state in words, its time line, attempts, input and result, steps and waits, and events.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { basePath, client, isMissing, queryClient } from '../../api/client.ts'
import { formText } from '../../forms/form-text.ts'
import { Reason, SubmitForm } from '../../forms/submit-form.tsx'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Badge, Copy, Dialog, Failed, Loading, ScreenTitle, Section, usePageTitle } from '../../ui/parts.tsx'
import { useCliCommand } from '../../ui/command.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'
import { Arguments } from '../../ui/values.tsx'
import { Changes, changesOf } from '../inbox/changes.tsx'
import { Attempts } from './attempts-section.tsx'
import { type Call, nameOf, statusWords } from './call-words.ts'
import { asCommand, asCurl, asTest } from './commands.ts'
import { RerunOf, Retry } from './retry.tsx'
import { Events } from './events.tsx'
import { LiveOutput } from './live-output.tsx'
import { InternalError, Outcome } from './outcome.tsx'
import { StatusSentence } from './status-sentence.tsx'
import { Steps } from './steps.tsx'
import { Waterfall } from './waterfall.tsx'

const runningIntervalMs = 1_000

export function CallScreen({ uid }: { readonly uid: string }): ReactNode {
  const query = useQuery({
    queryKey: ['call', uid],
    queryFn: () => client.calls.find({ call: uid }),
    // A worker that dies writes no event.
    refetchInterval: ({ state: { data } }) => (data?.state === 'running' ? runningIntervalMs : false),
  })
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
  const { outcome } = call
  const code = outcome?.status === 'failure' ? outcome.failure.code : null
  const { text, tone } = statusWords(call.state, outcome?.status ?? null, code)
  const timeline = useQuery({
    queryKey: ['timeline', call.uid, call.session],
    queryFn: () => client.calls.timeline({ call: call.uid }),
  })
  return (
    <>
      <ScreenTitle aside={<BackToCalls />}>
        {name} <Badge tone={tone}>{text}</Badge>
      </ScreenTitle>
      <section className="panel mb-4 p-4" aria-label="Status">
        <p className="any mb-2">
          <StatusSentence call={call} events={timeline.data?.events ?? []} />
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
      {timeline.data && <Attempts timeline={timeline.data} call={call.uid} ended={outcome ? text : null} />}
      <LiveOutput call={call} />
      <div className="grid gap-x-4 lg:grid-cols-2">
        <div className="min-w-0">
          <Section title="Input">
            <Arguments value={call.input} />
            {call.requested !== null && (
              <Changes
                title="Requested → what ran"
                label="Changes of the input"
                changes={changesOf(call.requested, call.input)}
              />
            )}
          </Section>
        </div>
        <div className="min-w-0">
          <Outcome call={call} />
        </div>
      </div>
      <Steps call={call} events={timeline.data?.events ?? []} />
      <InternalError call={call} />
      {timeline.data && <Events timeline={timeline.data} call={call.uid} />}
    </>
  )
}

function Actions({ call }: { readonly call: Call }): ReactNode {
  const mayCall = useMay('call')
  const command = useCliCommand()
  const [isCancelling, setCancelling] = useState(false)
  return (
    <div className="flex flex-wrap gap-2">
      {mayCall && call.settledAt === null && (
        <button type="button" className="button button-small" onClick={() => setCancelling(true)}>
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
          <Copy text={command(asCommand(call))} label="Copy as command" />
          <Copy text={asCurl(`${location.origin}${basePath}`, call)} label="Copy as curl" />
          <Copy text={asTest(call)} label="Copy as test" />
        </>
      )}
      {isCancelling && <Cancel call={call} onClose={() => setCancelling(false)} />}
    </div>
  )
}

function Cancel({ call, onClose }: { readonly call: Call; readonly onClose: () => void }): ReactNode {
  const cancel = async (data: FormData): Promise<void> => {
    const { session, uid } = call
    const reason = formText(data, 'reason')
    const { answer } = await client.calls.cancel({ session, call: uid, ...(reason === '' ? {} : { reason }) })
    notify(answer === 'cancelled' ? 'The cancellation is recorded.' : 'The call had ended before.')
    void queryClient.invalidateQueries({ queryKey: ['call', uid] })
  }
  return (
    <Dialog title={`Cancel ${nameOf(shown(call.name))}`} onClose={onClose}>
      <SubmitForm
        send={cancel}
        onDone={onClose}
        label="Cancel the call"
        tone="stop"
        onClose={onClose}
        close="Keep it running"
      >
        <p className="mb-3 text-soft">
          The tool is asked to stop, and the calls that it started are cancelled with it. Effects that have already
          happened are not undone. If its result arrives within the grace period, the result counts.
        </p>
        <Reason />
      </SubmitForm>
    </Dialog>
  )
}
