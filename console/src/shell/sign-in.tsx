// Shown in place of every screen until a login. The address stays, so that the screen follows the login. After the end
// of a login it covers the screen. The screen stays mounted, with what was typed.

import { type FormEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { signIn } from '../api/login.ts'
import { formText } from '../forms/form-text.ts'

interface SignInProps {
  /** The login has ended while the page was open. */
  readonly hasExpired: boolean
  /** Rejects if it cannot be read who is signed in. */
  readonly onSignedIn: () => Promise<void>
}

export function SignIn(props: SignInProps): ReactNode {
  // The screen below does not set its title again.
  useEffect(() => {
    const before = document.title
    document.title = 'Sign in · Pawl'
    return () => void (document.title = before)
  }, [])
  if (!props.hasExpired) return <Form {...props} />
  return (
    <Cover>
      <Form {...props} />
    </Cover>
  )
}

/** Above the dialogs of the screen. */
function Cover({ children }: { readonly children: ReactNode }): ReactNode {
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    dialog?.querySelector('input')?.focus()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      aria-label="Your login has ended"
      onCancel={(event) => event.preventDefault()}
      // A browser would close it nevertheless at the second Escape, and with the third one the dialog below.
      onKeyDown={(event) => event.key === 'Escape' && event.preventDefault()}
      onClose={() => ref.current?.showModal()}
      className="m-0 h-dvh max-h-none w-dvw max-w-none overflow-y-auto bg-bg text-text"
    >
      {children}
    </dialog>
  )
}

function Form({ hasExpired, onSignedIn }: SignInProps): ReactNode {
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const token = formText(new FormData(event.currentTarget), 'token')
    setBusy(true)
    const problem = await enter(token).catch(() => 'The server does not answer. Check that it runs, then try again.')
    setBusy(false)
    setProblem(problem)
  }
  async function enter(token: string): Promise<string | null> {
    const problem = await signIn(token)
    if (problem === null) await onSignedIn()
    return problem
  }
  return (
    <main className="mx-auto max-w-md px-4 py-16">
      <h1 className="mb-2 text-2xl font-semibold">{hasExpired ? 'Your login has ended' : 'Sign in to Pawl'}</h1>
      <p className="mb-6 text-soft">
        {hasExpired ? 'Sign in again; this page stays as it is, with what you have typed. ' : ''}
        Paste your token. The person who runs the server can create one:{' '}
        <code className="any inline-block text-text">npx pawl tokens create me --role operator</code>, or open the login
        address that <code className="text-text">pawl serve</code> prints at its start.
      </p>
      <form onSubmit={(event) => void submit(event)} className="panel p-4">
        <label className="mb-1 block font-medium" htmlFor="token">
          Token
        </label>
        <input
          id="token"
          name="token"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          aria-describedby={problem === null ? undefined : 'token-problem'}
          aria-invalid={problem !== null}
          className="field mb-3"
        />
        {problem !== null && (
          <p id="token-problem" role="alert" className="mb-3 text-stop">
            {problem}
          </p>
        )}
        <button type="submit" className="button button-go w-full" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  )
}
