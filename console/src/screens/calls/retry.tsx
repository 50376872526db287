// Runs a call again with the same arguments. It makes a new call that names the old one; the old one stays as it is.

import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { client } from '../../api/client.ts'
import { notify } from '../../ui/notices.tsx'
import { Confirm } from '../../forms/confirm.tsx'
import { shown } from '../../ui/shown.ts'
import { type Call, nameOf } from './call-words.ts'

/** The field of `meta` with the uid of the call that was run again. */
const field = 'rerunOf'
export const rerunMeta = (uid: string): { readonly [field]: string } => ({ [field]: uid })

/** A server shows this in place of a secret. */
export const isIncomplete = (input: unknown): boolean => JSON.stringify(input ?? null).includes('[redacted]')

export function Retry({ call }: { readonly call: Call }): ReactNode {
  const { uid, name, session, input } = call
  const [isOpen, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const run = async (): Promise<void> => {
    const started = await client.calls.run({
      session,
      name,
      input,
      meta: rerunMeta(uid),
      until: 'accepted',
    })
    const { calls } = await client.calls.recent({ session, limit: 100 })
    const made = calls.find(({ callId }) => callId === started.callId)
    notify('It runs again, as a new call.')
    if (made) navigate(`/calls/${made.uid}`)
  }
  if (isIncomplete(input))
    return <span className="text-sm text-soft">It has hidden arguments, so it cannot be run again from here.</span>
  return (
    <>
      <button type="button" className="button button-small" onClick={() => setOpen(true)}>
        Run again
      </button>
      {isOpen && (
        <Confirm
          title={`Run ${nameOf(shown(name))} again`}
          consequence={
            'A new call runs with the same arguments, under your name, and asks if the policy says so. Effects of this ' +
            'call are not undone, so the same may happen twice.'
          }
          action="Run it again"
          tone="go"
          run={run}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

/** The link from a call that was run again to the one before it. */
export function RerunOf({ call: { meta } }: { readonly call: Call }): ReactNode {
  const of =
    typeof meta === 'object' && meta !== null && field in meta ? (meta as Record<string, unknown>)[field] : null
  if (typeof of !== 'string' || !/^[\w-]{1,64}$/.test(of)) return null
  return (
    <>
      {' · '}
      <Link href={`/calls/${of}`} className="text">
        runs another call again
      </Link>
    </>
  )
}
