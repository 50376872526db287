// The dialogs in which a person decides: approve, deny, approve with edits, answer. Each says first what it causes.

import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { client } from '../../api/client.ts'
import { formText } from '../../forms/form-text.ts'
import { problemsOf, type Schema } from '../../forms/schema.ts'
import { SchemaForm } from '../../forms/schema-form.tsx'
import { Dialog, Failed, Loading } from '../../ui/parts.tsx'
import { Arguments } from '../../ui/values.tsx'
import { AnswerForm } from './answer-form.tsx'
import { Changes, changesOf } from './changes.tsx'
import { decide } from './decide.ts'
import { consequence, type Item } from './item-words.ts'
import { Remember, type Rule } from './remember.tsx'

export type DecisionVerb = 'approve' | 'deny' | 'edit' | 'answer'

interface DecisionDialogProps {
  readonly item: Item
  readonly verb: DecisionVerb
  readonly onClose: () => void
  readonly onDecided: () => void
}

type Decision = Parameters<typeof decide>[1]

/** Sends a decision once; the problem of a refused one stays in the dialog. */
function useDecision({ item, onDecided }: DecisionDialogProps) {
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  async function send(decision: Decision): Promise<void> {
    if (isBusy) return
    setBusy(true)
    const refused = await decide(item, decision)
    setBusy(false)
    setProblem(refused)
    if (refused === null) onDecided()
  }
  return { problem, isBusy, send: (decision: Decision) => void send(decision) }
}

export function DecisionDialog(props: DecisionDialogProps): ReactNode {
  const { verb, item } = props
  if (verb === 'approve') return item.kind === 'connection' ? <Connect {...props} /> : <Approve {...props} />
  if (verb === 'deny') return <Deny {...props} />
  return verb === 'edit' ? <Edit {...props} /> : <Answer {...props} />
}

const Problem = ({ text }: { readonly text: string | null }): ReactNode =>
  text === null ? null : (
    <p role="alert" className="wrap mb-3 text-stop">
      {text}
    </p>
  )

const Consequence = ({ text }: { readonly text: string }): ReactNode => <p className="mb-4 text-soft">{text}</p>

interface ButtonsProps {
  readonly label: string
  readonly tone: 'go' | 'stop'
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly autoFocus?: boolean
}

const Buttons = ({ label, tone, isBusy, onClose, autoFocus = false }: ButtonsProps): ReactNode => (
  <div className="flex flex-wrap gap-2">
    <button
      type="submit"
      data-autofocus={autoFocus || undefined}
      disabled={isBusy}
      className={`button ${tone === 'go' ? 'button-go' : 'button-stop'}`}
    >
      {label}
    </button>
    <button type="button" className="button" onClick={onClose}>
      Cancel
    </button>
  </div>
)

const onSubmit =
  (act: (data: FormData) => void) =>
  (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    act(new FormData(event.currentTarget))
  }

function Approve(props: DecisionDialogProps): ReactNode {
  const { item, onClose } = props
  const { problem, isBusy, send } = useDecision(props)
  const [rule, setRule] = useState<Rule | null>(null)
  const label = item.kind === 'finding' ? 'Run again' : rule ? 'Approve and add the rule' : 'Approve'
  return (
    <Dialog title={`${item.kind === 'finding' ? 'Run again' : 'Approve'}: ${item.preview.summary}`} onClose={onClose}>
      <form onSubmit={onSubmit(() => send({ approve: true, ...(rule ? { remember: rule } : {}) }))}>
        <Consequence text={consequence.approve(item)} />
        <div className="mb-4 max-h-60 overflow-y-auto rounded-md bg-sunk px-3 py-1" tabIndex={0}>
          <Arguments value={item.args} />
        </div>
        {item.verbs.includes('remember') && <Remember item={item} rule={rule} onChange={setRule} />}
        <Problem text={problem} />
        <Buttons label={label} tone={item.kind === 'finding' ? 'stop' : 'go'} {...{ isBusy, onClose }} autoFocus />
      </form>
    </Dialog>
  )
}

function Deny(props: DecisionDialogProps): ReactNode {
  const { item, onClose } = props
  const { problem, isBusy, send } = useDecision(props)
  const submit = (data: FormData): void => {
    const reason = formText(data, 'reason')
    send({ deny: true, ...(reason === '' ? {} : { reason }) })
  }
  return (
    <Dialog title={`Deny: ${item.preview.summary}`} onClose={onClose}>
      <form onSubmit={onSubmit(submit)}>
        <Consequence text={consequence.deny(item)} />
        <label className="mb-3 block">
          <span className="mb-1 block font-medium">Reason (optional)</span>
          <textarea name="reason" rows={3} maxLength={1_000} className="field" data-autofocus />
        </label>
        <Problem text={problem} />
        <Buttons label={item.kind === 'finding' ? 'Leave it unknown' : 'Deny'} tone="stop" {...{ isBusy, onClose }} />
      </form>
    </Dialog>
  )
}

function Edit(props: DecisionDialogProps): ReactNode {
  const { item, onClose } = props
  const tool = useQuery({
    queryKey: ['tools', item.tool, item.session],
    queryFn: () => client.tools.get({ tool: item.tool, session: item.session }),
  })
  return (
    <Dialog title="Approve with edits" onClose={onClose}>
      {tool.error ? <Failed error={tool.error} /> : null}
      {tool.isPending && <Loading />}
      {tool.data && <EditForm {...props} schema={tool.data.input} />}
    </Dialog>
  )
}

function EditForm(props: DecisionDialogProps & { readonly schema: Schema }): ReactNode {
  const { item, onClose, schema } = props
  const { problem, isBusy, send } = useDecision(props)
  const [value, setValue] = useState<unknown>(item.args)
  const [unreadable, setUnreadable] = useState<ReadonlySet<string>>(new Set())
  const [wasSent, setSent] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  // The schema is read after the dialog has opened, so its first field is focused here.
  useEffect(() => form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), [])
  const problems = problemsOf(schema, value)
  const changes = changesOf(item.args, value)
  function submit(): void {
    setSent(true)
    if (problems.size === 0 && unreadable.size === 0) send({ edit: value as never })
  }
  return (
    <form ref={form} onSubmit={onSubmit(submit)} noValidate>
      <p className="any mb-2 font-medium">{item.preview.summary}</p>
      <Consequence text={consequence.edit} />
      <SchemaForm
        schema={schema}
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
      <Changes title="Proposed → edited" label="Changes" changes={changes} />
      <Problem text={unreadable.size > 0 ? 'A field cannot be read. Correct it first.' : problem} />
      <Buttons
        label={changes.length === 0 ? 'Approve unchanged' : 'Approve with edits'}
        tone="go"
        {...{ isBusy, onClose }}
      />
    </form>
  )
}

function Answer(props: DecisionDialogProps): ReactNode {
  const { item, onClose } = props
  const { problem, isBusy, send } = useDecision(props)
  const title = item.question?.text ?? (item.kind === 'finding' ? 'It happened' : 'Answer instead of the tool')
  return (
    <Dialog title={title} onClose={onClose}>
      <Consequence text={consequence.answer(item)} />
      <AnswerForm item={item} onAnswer={(answer) => send({ answer: answer as never })}>
        <Problem text={problem} />
        <Buttons label={item.kind === 'question' ? 'Answer' : 'Use this result'} tone="go" {...{ isBusy, onClose }} />
      </AnswerForm>
    </Dialog>
  )
}

/** The token goes to the connections of the caller, and the call goes on. */
function Connect({ item, onClose, onDecided }: DecisionDialogProps): ReactNode {
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  async function connect(data: FormData): Promise<void> {
    setBusy(true)
    try {
      await client.connections.set({ provider: item.provider ?? '', token: formText(data, 'token') })
      onDecided()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
    setBusy(false)
  }
  return (
    <Dialog title={`Connect ${item.provider ?? 'the account'}`} onClose={onClose}>
      <form onSubmit={onSubmit((data) => void connect(data))}>
        <Consequence text="The token is stored encrypted for you, and your calls that wait for it go on." />
        <label className="mb-3 block">
          <span className="mb-1 block font-medium">Token of the account</span>
          <input name="token" type="password" autoComplete="off" required className="field" data-autofocus />
        </label>
        <Problem text={problem} />
        <Buttons label="Connect" tone="go" {...{ isBusy, onClose }} />
      </form>
    </Dialog>
  )
}
