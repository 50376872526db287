// The dialogs in which a person decides: approve, deny, approve with edits, answer. Each says first what it causes.

import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react'
import { client } from '../../api/client.ts'
import { formText } from '../../forms/form-text.ts'
import type { Schema } from '../../forms/schema.ts'
import { Reason, SubmitForm } from '../../forms/submit-form.tsx'
import { useSchemaForm } from '../../forms/use-schema-form.tsx'
import { useMe } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Dialog, Failed, Loading } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
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
  /** It has ended while the dialog was open. The dialog stays, so that the text can be copied. */
  readonly hasEnded?: boolean
  readonly onClose: () => void
  readonly onDecided: () => void
}

export function DecisionDialog(props: DecisionDialogProps): ReactNode {
  return (
    <HasEnded value={props.hasEnded ?? false}>
      <DialogOf {...props} />
    </HasEnded>
  )
}

const HasEnded = createContext(false)

function DialogOf(props: DecisionDialogProps): ReactNode {
  const { verb, item } = props
  if (verb === 'approve') return item.kind === 'connection' ? <Connect {...props} /> : <Approve {...props} />
  if (verb === 'deny') return <Deny {...props} />
  return verb === 'edit' ? <Edit {...props} /> : <Answer {...props} />
}

function Consequence({ text }: { readonly text: string }): ReactNode {
  const hasEnded = useContext(HasEnded)
  return (
    <>
      {hasEnded && (
        <p role="alert" className="mb-3 text-stop">
          This request is no longer open: another person decided it, or its call ended. Your decision would change
          nothing.
        </p>
      )}
      <p className="mb-4 text-soft">{text}</p>
    </>
  )
}

function Approve({ item, onClose, onDecided }: DecisionDialogProps): ReactNode {
  const me = useMe()
  const [rule, setRule] = useState<Rule | null>(null)
  const isFinding = item.kind === 'finding'
  // A rule is added with the decision, not with a vote before it.
  const isLastVote = item.quorum - item.approvals.length <= 1
  const label = isFinding ? 'Run again' : rule ? 'Approve and add the rule' : 'Approve'
  return (
    <Dialog title={`${isFinding ? 'Run again' : 'Approve'}: ${item.preview.summary}`} onClose={onClose}>
      <SubmitForm
        send={() => decide(item, { approve: true, ...(rule ? { remember: rule } : {}) })}
        onDone={onDecided}
        label={label}
        tone={isFinding ? 'stop' : 'go'}
        onClose={onClose}
        focusButton
      >
        <Consequence text={consequence.approve(item, me.principal)} />
        <div className="mb-4 max-h-60 overflow-y-auto rounded-md bg-sunk px-3 py-1" tabIndex={0}>
          <Arguments value={item.args} />
        </div>
        {item.verbs.includes('remember') && isLastVote && <Remember item={item} rule={rule} onChange={setRule} />}
      </SubmitForm>
    </Dialog>
  )
}

function Deny({ item, onClose, onDecided }: DecisionDialogProps): ReactNode {
  const deny = (data: FormData): ReturnType<typeof decide> => {
    const reason = formText(data, 'reason')
    return decide(item, { deny: true, ...(reason === '' ? {} : { reason }) })
  }
  return (
    <Dialog title={`Deny: ${item.preview.summary}`} onClose={onClose}>
      <SubmitForm
        send={deny}
        onDone={onDecided}
        label={item.kind === 'finding' ? 'Leave it unknown' : 'Deny'}
        tone="stop"
        onClose={onClose}
      >
        <Consequence text={consequence.deny(item)} />
        <Reason rows={3} />
      </SubmitForm>
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
    <Dialog title="Approve with changes" onClose={onClose}>
      {tool.error ? <Failed error={tool.error} /> : null}
      {tool.isPending && <Loading />}
      {tool.data ? (
        <EditForm {...props} schema={tool.data.input} />
      ) : (
        <button type="button" className="button mt-3" onClick={onClose}>
          Close
        </button>
      )}
    </Dialog>
  )
}

function EditForm(props: DecisionDialogProps & { readonly schema: Schema }): ReactNode {
  const { item, onClose, onDecided, schema } = props
  const { value, fields, isValid, check } = useSchemaForm(schema, item.args)
  const box = useRef<HTMLDivElement>(null)
  // The schema is read after the dialog has opened, so its first field is focused here.
  useEffect(() => box.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), [])
  const changes = changesOf(item.args, value)
  return (
    <div ref={box}>
      <SubmitForm
        send={async () => check() ?? decide(item, { edit: value as never })}
        onDone={onDecided}
        label="Approve with changes"
        isDisabled={changes.length === 0}
        onClose={onClose}
      >
        <p className="any mb-2">
          <span className="text-soft">Requested:</span> {item.preview.summary}
        </p>
        <Consequence text={consequence.edit(item)} />
        {fields}
        {isValid && <Changes title="Requested → edited" label="Changes" changes={changes} />}
      </SubmitForm>
    </div>
  )
}

function Answer({ item, onClose, onDecided }: DecisionDialogProps): ReactNode {
  const title = item.question?.text ?? (item.kind === 'finding' ? 'It happened' : 'Answer instead of the tool')
  return (
    <Dialog title={title} onClose={onClose}>
      <Consequence text={consequence.answer(item)} />
      <AnswerForm item={item} onClose={onClose} onDecided={onDecided} />
    </Dialog>
  )
}

/** The token goes to the connections of the caller, and the call continues. */
function Connect({ item: { provider = '' }, onClose, onDecided }: DecisionDialogProps): ReactNode {
  return (
    <Dialog title={`Connect ${provider === '' ? 'the account' : shown(provider)}`} onClose={onClose}>
      <SubmitForm
        send={async (data) => {
          const { resumed } = await client.connections.set({ provider, token: formText(data, 'token') })
          notify(`The account is connected. ${resumed === 1 ? '1 call continues' : `${resumed} calls continue`}.`)
        }}
        onDone={onDecided}
        label="Connect"
        onClose={onClose}
      >
        <Consequence text="The token is stored encrypted for you, and your calls that wait for it continue." />
        <label className="mb-3 block">
          <span className="mb-1 block font-medium">Token of the account</span>
          <input name="token" type="password" autoComplete="off" required className="field" data-autofocus />
        </label>
      </SubmitForm>
    </Dialog>
  )
}
