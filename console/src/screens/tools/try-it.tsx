// Runs a tool with arguments from a form of its schema. A call that needs a person waits in the inbox, as any other.

import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useQuery } from '@tanstack/react-query'
import { basePath, client, messageOf } from '../../api/client.ts'
import { initialValue } from '../../forms/schema.ts'
import { Problem } from '../../forms/submit-form.tsx'
import { useSchemaForm } from '../../forms/use-schema-form.tsx'
import { useQueryFields } from '../../ui/address.ts'
import { Badge, Copy, Failed, Loading, Section } from '../../ui/parts.tsx'
import { useCliCommand } from '../../ui/command.tsx'
import { shown } from '../../ui/shown.ts'
import { Json } from '../../ui/values.tsx'
import { statusWords } from '../calls/call-words.ts'
import { asCommand, asCurl } from '../calls/commands.ts'
import { isIncomplete, rerunMeta, withoutMarks } from '../calls/retry.tsx'
import { type Explained, Explanation } from '../policy/explain.tsx'

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
  const { input, session, uid } = query.data
  return (
    <Form tool={tool} first={withoutMarks(input) ?? {}} session={session} of={uid} isIncomplete={isIncomplete(input)} />
  )
}

interface FormProps {
  readonly tool: Tool
  readonly first: unknown
  readonly session: string
  /** The call that is run again. */
  readonly of?: string
  /** Some of its arguments are not shown to people. */
  readonly isIncomplete?: boolean
}

function Form({ tool, first, session: firstSession, of, isIncomplete: hasHidden = false }: FormProps): ReactNode {
  const { value, fields, check } = useSchemaForm(tool.input, first)
  const [session, setSession] = useState(firstSession)
  const command = useCliCommand()
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [result, setResult] = useState<Result | null>(null)
  const [explained, setExplained] = useState<Explained | null>(null)
  const input = value as never
  const meta = of === undefined ? {} : { meta: rerunMeta(of) }
  async function attempt(act: () => Promise<void>): Promise<void> {
    if (isBusy) return
    const found = check()
    setProblem(found)
    if (found !== null) return
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
    attempt(async () => setExplained(await client.policy.explain({ session, tool: tool.name, input })))
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
        {hasHidden && <p className="mb-3 text-wait">Some arguments of the call are hidden. Enter them again.</p>}
        {fields}
        <label className="mb-3 block max-w-sm">
          <span className="mb-1 block font-medium">Session</span>
          <input className="field" required value={session} onChange={({ target }) => setSession(target.value)} />
          <span className="text-sm text-soft">The call is recorded there, under your name.</span>
        </label>
        <Problem text={problem} />
        <div className="flex flex-wrap items-center gap-2">
          <button type="submit" className="button button-go" disabled={isBusy || session === ''}>
            {isBusy ? 'Running…' : 'Run'}
          </button>
          <button type="button" className="button" disabled={isBusy || session === ''} onClick={() => void explain()}>
            Would it ask?
          </button>
          <Copy text={command(asCommand(call))} label="Copy as command" />
          <Copy text={asCurl(`${location.origin}${basePath}`, call)} label="Copy as curl" />
        </div>
      </form>
      <div aria-live="polite" className="mt-3">
        {explained && <Explanation explained={explained} />}
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
