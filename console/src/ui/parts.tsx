// Small parts of screens: headings, empty screens, errors, copy buttons, dialogs.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { messageOf } from '../api/client.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { shown } from './shown.ts'

interface TitleProps {
  readonly children: ReactNode
  readonly aside?: ReactNode
}

/** The heading of a screen. It takes the focus that a removed element had, so that a keyboard goes on from there. */
export function ScreenTitle({ children, aside }: TitleProps): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [])
  return (
    <div className="mb-4 flex flex-wrap items-center justify-between gap-2">
      <h1
        ref={heading}
        tabIndex={-1}
        className="any flex flex-wrap items-center gap-x-3 text-xl font-semibold outline-none"
      >
        {children}
      </h1>
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

export const Loading = (): ReactNode => (
  <p className="p-4 text-soft" role="status">
    Loading…
  </p>
)

export const Failed = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }): ReactNode => (
  <div className="panel border-stop p-4" role="alert">
    <p className="wrap mb-2">{shown(messageOf(error))}</p>
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
  <span
    className={`inline-block rounded border border-current px-1.5 align-middle text-xs leading-5 font-medium ${tones[tone]}`}
  >
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
      onKeyDown={(event) => {
        // The key that opened the dialog may still be held down. It must not press the button that has the focus.
        if (event.repeat && (event.key === 'Enter' || event.key === ' ')) event.preventDefault()
      }}
      className="m-auto max-h-[90dvh] w-[min(38rem,calc(100vw-1.5rem))] overflow-y-auto rounded-lg border border-line
        bg-panel p-5 text-text backdrop:bg-black/50"
    >
      <h2 id={heading} className="any mb-3 text-lg font-semibold">
        {title}
      </h2>
      <ErrorBoundary of={title}>{children}</ErrorBoundary>
    </dialog>
  )
}
