// Runs a tool with arguments from a form of its schema. A call that needs a person waits in the inbox, as any other.

import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useQuery } from '@tanstack/react-query'
import { basePath, client, messageOf } from '../../api/client.ts'
import { initialValue, problemsOf } from '../../forms/schema.ts'
import { SchemaForm } from '../../forms/schema-form.tsx'
import { useQueryFields } from '../../ui/address.ts'
import { Badge, Copy, Failed, Loading, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Json } from '../../ui/values.tsx'
import { statusWords } from '../calls/call-words.ts'
import { asCommand, asCurl } from '../calls/commands.ts'
import { rerunMeta } from '../calls/retry.tsx'

type Tool = Awaited<ReturnType<typeof client.tools.get>>
type Result = Awaited<ReturnType<typeof client.calls.run>>

/** `?from=<uid>` begins with the arguments of that call. */
export function TryIt({ tool }: { readonly tool: Tool }): ReactNode {
  const [search] = useQueryFields()
  const from = search.get('from')
  const query = useQuery({
    queryKey: ['call', from],
    queryFn: () => client.calls.find({ call: from ?? '' }),
    enabled: from !== null,
  })
  if (from === null) return <Form tool={tool} first={initialValue(tool.input)} session="console" />
  if (query.error) return <Failed error={query.error} />
  if (!query.data) return <Loading />
  return <Form tool={tool} first={query.data.input} session={query.data.session} of={query.data.uid} />
}

interface FormProps {
  readonly tool: Tool
  readonly first: unknown
  readonly session: string
  /** The call that is run again. */
  readonly of?: string
}

function Form({ tool, first, session: firstSession, of }: FormProps): ReactNode {
  const [value, setValue] = useState<unknown>(first)
  const [session, setSession] = useState(firstSession)
  const [unreadable, setUnreadable] = useState<ReadonlySet<string>>(new Set())
  const [wasSent, setSent] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [result, setResult] = useState<Result | null>(null)
  const [explained, setExplained] = useState<string | null>(null)
  const problems = problemsOf(tool.input, value)
  const input = value as never
  const meta = of === undefined ? {} : { meta: rerunMeta(of) }
  const isReady = (): boolean => {
    setSent(true)
    setProblem(unreadable.size > 0 ? 'A field cannot be read. Correct it first.' : null)
    return problems.size === 0 && unreadable.size === 0
  }
  async function attempt(act: () => Promise<void>): Promise<void> {
    if (!isReady() || isBusy) return
    setBusy(true)
    setResult(null)
    setExplained(null)
    try {
      await act()
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  const run = (): Promise<void> =>
    attempt(async () => setResult(await client.calls.run({ session, name: tool.name, input, ...meta })))
  const explain = (): Promise<void> =>
    attempt(async () => {
      const { would, why } = await client.policy.explain({ session, tool: tool.name, input })
      setExplained(`It would ${would}. ${why}`)
    })
  const call = { name: tool.name, session, input: value ?? {} }
  return (
    <Section title="Try it">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <SchemaForm
          schema={tool.input}
          value={value}
          onChange={setValue}
          problems={wasSent ? problems : new Map()}
          onUnreadable={(path, is) => {
            const next = new Set(unreadable)
            if (is) next.add(path)
            else next.delete(path)
            setUnreadable(next)
          }}
        />
        <label className="mb-3 block max-w-sm">
          <span className="mb-1 block font-medium">Session</span>
          <input className="field" required value={session} onChange={({ target }) => setSession(target.value)} />
          <span className="text-sm text-soft">The call is recorded there, under your name.</span>
        </label>
        {problem !== null && (
          <p role="alert" className="wrap mb-3 text-stop">
            {problem}
          </p>
        )}
        <div className="flex flex-wrap gap-2">
          <button type="submit" className="button button-go" disabled={isBusy || session === ''}>
            {isBusy ? 'Running…' : 'Run'}
          </button>
          <button type="button" className="button" disabled={isBusy || session === ''} onClick={() => void explain()}>
            Would it ask?
          </button>
          <Copy text={asCommand(call)} label="Copy as command" />
          <Copy text={asCurl(`${location.origin}${basePath}`, call)} label="Copy as curl" />
        </div>
      </form>
      <div aria-live="polite" className="mt-3">
        {explained !== null && <p className="wrap rounded-md bg-sunk p-3">{shown(explained)}</p>}
        {result && <ResultView result={result} session={session} />}
      </div>
    </Section>
  )
}

function ResultView({ result, session }: { readonly result: Result; readonly session: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ['calls', 'tried', session, result.callId],
    queryFn: async () =>
      (await client.calls.recent({ session, limit: 50 })).calls.find(({ callId }) => callId === result.callId) ?? null,
  })
  const state = result.status === 'waiting' ? 'parked' : result.status
  const { text, tone } = statusWords(state, null)
  return (
    <div className="rounded-md border border-line p-3">
      <p className="mb-2 flex flex-wrap items-center gap-3">
        <Badge tone={tone}>{text}</Badge>
        {data && (
          <Link href={`/calls/${data.uid}`} className="text">
            Open the call
          </Link>
        )}
        {result.status === 'waiting' && (
          <Link href={`/inbox/${result.waitId}`} className="text">
            It waits for a person
          </Link>
        )}
      </p>
      {result.status === 'success' && <Json value={result.value} label="the result" />}
      {result.status === 'failure' && <p className="wrap">{shown(result.failure.message)}</p>}
      {result.status === 'cancelled' && <p className="wrap">{shown(result.cancellation.message)}</p>}
      {result.status === 'unknown' && <p className="wrap">{shown(result.unknown.message)}</p>}
    </div>
  )
}
