// Small parts of screens: headings, empty screens, errors, copy buttons, dialogs.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { messageOf } from '../api/client.ts'

interface TitleProps {
  readonly children: ReactNode
  readonly aside?: ReactNode
}

/** The heading of a screen, which is also the title of the page. */
export function ScreenTitle({ children, aside }: TitleProps): ReactNode {
  return (
    <div className="mb-4 flex flex-wrap items-center justify-between gap-2">
      <h1 className="any text-xl font-semibold">{children}</h1>
      {aside}
    </div>
  )
}

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Pawl`
  }, [title])
}

export const Section = ({ title, children, aside }: TitleProps & { readonly title: string }): ReactNode => (
  <section className="panel mb-4 p-4" aria-label={title}>
    <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
      <h2 className="font-semibold">{title}</h2>
      {aside}
    </div>
    {children}
  </section>
)

/** An empty screen teaches the command that fills it. */
export const Empty = (props: {
  readonly title: string
  readonly command: string
  readonly children: ReactNode
}): ReactNode => (
  <div className="panel mx-auto mt-8 max-w-xl p-6 text-center">
    <h2 className="mb-1 text-lg font-semibold">{props.title}</h2>
    <p className="mb-4 text-soft">{props.children}</p>
    <div className="flex flex-wrap items-center justify-center gap-2">
      <code className="any rounded-md bg-sunk px-3 py-2 text-left text-sm">{props.command}</code>
      <Copy text={props.command} label="Copy command" />
    </div>
  </div>
)

/** A command for a shell, with a button that copies it. */
export const Command = ({ text }: { readonly text: string }): ReactNode => (
  <p className="flex flex-wrap items-center gap-2">
    <code className="any rounded-md bg-sunk px-2 py-1 text-sm">{text}</code>
    <Copy text={text} label="Copy command" />
  </p>
)

interface ConfirmProps {
  readonly title: string
  /** The consequence: changes of the action, and things that it leaves as they are. */
  readonly consequence: string
  readonly action: string
  readonly tone?: 'stop' | 'go'
  readonly run: () => Promise<unknown>
  readonly onClose: () => void
}

/** Asks before an action. The dialog stays open with the error if the action fails. */
export function Confirm({ title, consequence, action, tone = 'stop', run, onClose }: ConfirmProps): ReactNode {
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const act = async (): Promise<void> => {
    setBusy(true)
    try {
      await run()
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="wrap mb-4">{consequence}</p>
      {problem !== null && (
        <p role="alert" className="wrap mb-3 text-stop">
          {problem}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <button
          type="button"
          className={`button ${tone === 'stop' ? 'button-stop' : 'button-go'}`}
          disabled={isBusy}
          data-autofocus
          onClick={() => void act()}
        >
          {action}
        </button>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

export const Loading = (): ReactNode => (
  <p className="p-4 text-soft" role="status">
    Loading…
  </p>
)

export const Failed = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }): ReactNode => (
  <div className="panel border-stop p-4" role="alert">
    <p className="wrap mb-2">{messageOf(error)}</p>
    {retry && (
      <button type="button" className="button" onClick={retry}>
        Try again
      </button>
    )}
  </div>
)

export function Copy({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const [copied, setCopied] = useState<'no' | 'yes' | 'failed'>('no')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async (): Promise<void> => {
    try {
      // Not there on a page without HTTPS on another machine.
      await navigator.clipboard.writeText(text)
      setCopied('yes')
    } catch {
      setCopied('failed')
    }
    timer.current = setTimeout(() => setCopied('no'), 2_000)
  }
  return (
    <button type="button" className="button button-small" onClick={() => void copy()}>
      {copied === 'no' ? label : copied === 'yes' ? 'Copied' : 'The browser refused'}
    </button>
  )
}

const tones = {
  neutral: 'text-soft',
  go: 'text-go',
  stop: 'text-stop',
  wait: 'text-wait',
  accent: 'text-accent',
} as const
export type Tone = keyof typeof tones

export const Badge = ({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ReactNode }) => (
  <span className={`inline-block rounded border border-current px-1.5 text-xs font-medium ${tones[tone]}`}>
    {children}
  </span>
)

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** The browser keeps the focus inside, closes it with Escape, and returns the focus. */
export function Dialog({ title, onClose, children }: DialogProps): ReactNode {
  const ref = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    // React focuses `autoFocus` before the dialog is open, which has no effect.
    dialog?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      className="m-auto max-h-[90dvh] w-[min(38rem,calc(100vw-1.5rem))] overflow-y-auto rounded-lg border border-line
        bg-panel p-5 text-text backdrop:bg-black/50"
    >
      <h2 id={heading} className="any mb-3 text-lg font-semibold">
        {title}
      </h2>
      {children}
    </dialog>
  )
}
