// API tokens: a list, a form that makes one, and a button that revokes one.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { client, queryClient } from '../../api/client.ts'
import { formText } from '../../forms/form-text.ts'
import { SubmitForm } from '../../forms/submit-form.tsx'
import { notify } from '../../ui/notices.tsx'
import { Confirm } from '../../forms/confirm.tsx'
import { Command } from '../../ui/command.tsx'
import { Copy, Dialog, Failed, Section } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { clockTime, Time } from '../../ui/time.tsx'

type Token = Awaited<ReturnType<typeof client.tokens.list>>[number]
type Role = 'viewer' | 'caller' | 'approver' | 'operator' | 'admin'

const roles: Readonly<Record<Role, string>> = {
  viewer: 'sees everything in the tenant',
  caller: 'sees everything and runs tools',
  approver: 'sees everything and decides requests',
  operator: 'runs tools, decides, cancels, and sees rules and internals',
  admin: 'everything, and manages tokens',
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
      <div className="mt-2">
        <Command text="pawl tokens" />
      </div>
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
  const [created, setCreated] = useState<string | null>(null)
  const create = async (data: FormData): Promise<void> => {
    const [name = '', principal = '', expiresIn = ''] = ['name', 'principal', 'expires'].map((field) =>
      formText(data, field),
    )
    const { token } = await client.tokens.create({
      name,
      roles: [formText(data, 'role') as Role],
      ...(principal === '' ? {} : { principal }),
      ...(expiresIn === '' ? {} : { expiresIn: expiresIn as '90d' }),
    })
    setCreated(token)
    refresh()
  }
  if (created !== null)
    return (
      <Dialog title="The new token" onClose={onClose}>
        <p className="mb-3">Copy it now. It is not stored, and cannot be shown again.</p>
        <p className="mb-4 flex flex-wrap items-center gap-2">
          <code className="any rounded-md bg-sunk px-3 py-2 text-sm">{created}</code>
          <Copy text={created} label="Copy the token" />
        </p>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </Dialog>
    )
  return (
    <Dialog title="New token" onClose={onClose}>
      <SubmitForm send={create} onDone={() => {}} label="Create the token" onClose={onClose}>
        <p className="mb-3 text-soft">
          A program or person with this token acts in this tenant, with the rights of its role.
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
        <Field name="principal" label="Acts as (optional), such as user:ada" />
        <Field name="expires" label="Expires in (optional), such as 90d" />
      </SubmitForm>
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
