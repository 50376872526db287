// A form that sends something to the server: it is sent once, and a problem stays in the form with what was typed.

import { type ReactNode, useRef, useState } from 'react'
import { messageOf } from '../api/client.ts'
import { shown } from '../ui/shown.ts'

export const Problem = ({ text }: { readonly text: string | null }): ReactNode =>
  text === null ? null : (
    <p role="alert" className="wrap mb-3 text-stop">
      {shown(text)}
    </p>
  )

interface SubmitFormProps {
  /** Returns or throws the problem; anything else means that it worked. */
  readonly send: (data: FormData) => Promise<string | null | void>
  readonly onDone: () => void
  readonly label: string
  readonly tone?: 'go' | 'stop' | 'plain'
  /** Null: the form has no button that leaves it. */
  readonly onClose: (() => void) | null
  readonly close?: string
  /** There is nothing to send yet. */
  readonly isDisabled?: boolean
  /** The button that sends has the focus first: the form has no field. */
  readonly focusButton?: boolean
  readonly children?: ReactNode
}

const tones = { go: 'button-go', stop: 'button-stop', plain: '' } as const

export function SubmitForm(props: SubmitFormProps): ReactNode {
  const { send, onDone, label, tone = 'go', onClose, close = 'Cancel', focusButton = false, children } = props
  const { isDisabled = false } = props
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  // Two clicks may come before the button is drawn as disabled.
  const isSending = useRef(false)
  async function submit(form: HTMLFormElement): Promise<void> {
    if (isSending.current) return
    isSending.current = true
    setBusy(true)
    const found = await send(new FormData(form)).catch(messageOf)
    isSending.current = false
    setBusy(false)
    // The form was closed meanwhile: what follows is no longer about it.
    if (!form.isConnected) return
    setProblem(found ?? null)
    if (typeof found === 'string') return
    form.reset()
    onDone()
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void submit(event.currentTarget)
      }}
    >
      <fieldset disabled={isBusy} className="contents">
        {children}
      </fieldset>
      <Problem text={problem} />
      <div
        className={`flex flex-wrap gap-2 ${onClose === null ? '' : 'sticky -bottom-5 -mx-5 -mb-5 bg-panel px-5 pt-3 pb-5'}`}
      >
        <button
          type="submit"
          disabled={isBusy || isDisabled}
          data-autofocus={focusButton || undefined}
          className={`button ${tones[tone]}`}
        >
          {label}
        </button>
        {onClose && (
          <button type="button" className="button" onClick={onClose}>
            {close}
          </button>
        )}
      </div>
    </form>
  )
}

interface ReasonProps {
  readonly rows?: number
}

/** The reason of a decision or a cancellation. */
export const Reason = ({ rows = 2 }: ReasonProps): ReactNode => (
  <label className="mb-3 block">
    <span className="mb-1 block font-medium">Reason (optional)</span>
    <textarea name="reason" rows={rows} maxLength={1_000} className="field" data-autofocus />
  </label>
)
