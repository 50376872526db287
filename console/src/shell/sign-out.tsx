// The button that ends the login, with the problem if that did not work. In the account, and where a login cannot be read.

import { type ReactNode, useState } from 'react'
import { signOut } from '../api/login.ts'
import { Problem } from '../forms/submit-form.tsx'

export function SignOut(): ReactNode {
  const [problem, setProblem] = useState<string | null>(null)
  const leave = async (): Promise<void> => {
    setProblem(null)
    setProblem(await signOut().catch(() => 'You may still be signed in: the server does not answer. Try again.'))
  }
  return (
    <>
      <button type="button" className="button" onClick={() => void leave()}>
        Sign out
      </button>
      <Problem text={problem} />
    </>
  )
}
