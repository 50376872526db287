// Shown in place of every screen until a login. The address stays, so that the screen follows the login.

import { type FormEvent, type ReactNode, useState } from 'react'
import { signIn } from '../api/client.ts'
import { formText } from '../forms/form-text.ts'
import { usePageTitle } from '../ui/parts.tsx'

interface SignInProps {
  /** The login has ended while the page was open. */
  readonly hasExpired: boolean
  readonly onSignedIn: () => void
}

export function SignIn({ hasExpired, onSignedIn }: SignInProps): ReactNode {
  usePageTitle('Sign in')
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const token = formText(new FormData(event.currentTarget), 'token')
    setBusy(true)
    const answer = await signIn(token).catch(() => 'The server does not answer. Check that it runs, then try again.')
    setBusy(false)
    if (answer === null) onSignedIn()
    else setProblem(answer)
  }
  return (
    <main className="mx-auto max-w-md px-4 py-16">
      <h1 className="mb-2 text-2xl font-semibold">{hasExpired ? 'Your login has ended' : 'Sign in to Pawl'}</h1>
      <p className="mb-6 text-soft">
        {hasExpired ? 'Sign in again; you come back to this page. ' : ''}
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
