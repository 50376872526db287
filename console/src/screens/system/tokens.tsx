// API tokens: a list, a form that makes one, and a button that revokes one.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { client, messageOf, queryClient } from '../../api/client.ts'
import { formText } from '../../forms/form-text.ts'
import { notify } from '../../ui/notices.tsx'
import { Confirm, Copy, Dialog, Failed, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'

type Token = Awaited<ReturnType<typeof client.tokens.list>>[number]
type Role = 'viewer' | 'caller' | 'approver' | 'operator' | 'admin'

const roles: Readonly<Record<Role, string>> = {
  viewer: 'sees everything of the tenant',
  caller: 'and runs tools',
  approver: 'sees everything and decides about requests',
  operator: 'runs, decides, cancels and looks inside',
  admin: 'and manages tokens',
}

const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['system', 'tokens'] })

export function Tokens(): ReactNode {
  const [revoked, setRevoked] = useState<Token | null>(null)
  const [isMaking, setMaking] = useState(false)
  const { data: tokens, error } = useQuery({ queryKey: ['system', 'tokens'], queryFn: () => client.tokens.list() })
  if (error && !tokens) return <Failed error={error} />
  return (
    <Section
      title="Tokens"
      aside={
        <button type="button" className="button button-small" onClick={() => setMaking(true)}>
          New token
        </button>
      }
    >
      {tokens?.length === 0 && (
        <p className="text-soft">None in the store. Tokens of the configuration are not listed.</p>
      )}
      <ul className="divide-y divide-line">
        {tokens?.map((token) => (
          <Row key={token.id} token={token} onRevoke={() => setRevoked(token)} />
        ))}
      </ul>
      {isMaking && <NewToken onClose={() => setMaking(false)} />}
      {revoked && (
        <Confirm
          title={`Revoke ${shown(revoked.name)}`}
          consequence="Requests with this token are refused from now on, and its open streams end. It cannot be undone."
          action="Revoke"
          run={async () => {
            await client.tokens.revoke({ token: revoked.id })
            notify('The token is revoked.')
            refresh()
          }}
          onClose={() => setRevoked(null)}
        />
      )}
    </Section>
  )
}

function Row({ token, onRevoke }: { readonly token: Token; readonly onRevoke: () => void }): ReactNode {
  const { name, principal, roles: given, expiresAt, revokedAt } = token
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 py-1.5">
      <span className="any">
        {shown(name)}{' '}
        <span className="text-sm text-soft">
          {shown(principal)}, {given.join(', ')}
        </span>
      </span>
      <span className="flex items-center gap-3 text-sm text-soft">
        {revokedAt !== null ? (
          'revoked'
        ) : expiresAt === null ? (
          'does not expire'
        ) : (
          <span>
            until <Time at={expiresAt}>{clockTime(expiresAt)}</Time>
          </span>
        )}
        {revokedAt === null && (
          <button
            type="button"
            className="button button-small"
            aria-label={`Revoke the token ${shown(name)}`}
            onClick={onRevoke}
          >
            Revoke
          </button>
        )}
      </span>
    </li>
  )
}

function NewToken({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [made, setMade] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const make = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form)
    const [name, principal, expiresIn] = ['name', 'principal', 'expires'].map((field) => formText(data, field))
    try {
      const { token } = await client.tokens.create({
        name: name ?? '',
        roles: [formText(data, 'role') as Role],
        ...(principal === undefined || principal === '' ? {} : { principal }),
        ...(expiresIn === undefined || expiresIn === '' ? {} : { expiresIn: expiresIn as '90d' }),
      })
      setMade(token)
      refresh()
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  if (made !== null)
    return (
      <Dialog title="The new token" onClose={onClose}>
        <p className="mb-3">Copy it now. It is not stored, and cannot be shown again.</p>
        <p className="mb-4 flex flex-wrap items-center gap-2">
          <code className="any rounded-md bg-sunk px-3 py-2 text-sm">{made}</code>
          <Copy text={made} label="Copy the token" />
        </p>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </Dialog>
    )
  return (
    <Dialog title="New token" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void make(event.currentTarget)
        }}
      >
        <p className="mb-3 text-soft">
          Programs and people that have it act in this tenant, with the rights of its role.
        </p>
        <Field name="name" label="Name" required autoFocus />
        <label className="mb-3 block">
          <span className="mb-1 block font-medium">Role</span>
          <select name="role" className="field" defaultValue="viewer">
            {Object.entries(roles).map(([role, text]) => (
              <option key={role} value={role}>
                {role}: {text}
              </option>
            ))}
          </select>
        </label>
        <Field name="principal" label="Whom it stands for (optional), such as user:ada" />
        <Field name="expires" label="Expires in (optional), such as 90d" />
        {problem !== null && (
          <p role="alert" className="wrap mb-3 text-stop">
            {problem}
          </p>
        )}
        <div className="flex gap-2">
          <button type="submit" className="button button-go">
            Make the token
          </button>
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly required?: boolean
  readonly autoFocus?: boolean
}

const Field = ({ name, label, required = false, autoFocus = false }: FieldProps): ReactNode => (
  <label className="mb-3 block">
    <span className="mb-1 block font-medium">{label}</span>
    <input
      name={name}
      className="field"
      autoComplete="off"
      required={required}
      {...(autoFocus ? { 'data-autofocus': '' } : {})}
    />
  </label>
)
