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

/** The server shows these marks in place of secrets and of hidden arguments. */
const marks = ['[redacted]', '[hidden]']

export const isIncomplete = (input: unknown): boolean => {
  const text = JSON.stringify(input ?? null)
  return marks.some((mark) => text.includes(mark))
}

/** Without the fields whose values are not shown, so that no mark is sent as an argument. */
export function withoutMarks(input: unknown): unknown {
  if (Array.isArray(input)) return input.filter((each) => !isIncomplete(each)).map(withoutMarks)
  if (typeof input !== 'object' || input === null) return isIncomplete(input) ? undefined : input
  return Object.fromEntries(
    Object.entries(input)
      .map(([name, value]) => [name, withoutMarks(value)])
      .filter(([, value]) => value !== undefined),
  )
}

/** `crypto.randomUUID` does not exist on a page without HTTPS on another machine. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('')

export function Retry({ call }: { readonly call: Call }): ReactNode {
  const { uid, name, session, input } = call
  /** Part of the idempotency key: pressed twice, or after a lost answer, the dialog starts one call. */
  const [key, setKey] = useState<string | null>(null)
  const [, navigate] = useLocation()
  const run = async (): Promise<void> => {
    const { callId } = await client.calls.run({
      session,
      name,
      input,
      meta: rerunMeta(uid),
      until: 'accepted',
      idempotencyKey: `rerun-${key}-${uid}`,
    })
    notify('It runs again, as a new call.')
    // The call has started: if it cannot be found, the page stays as it is.
    const recent = await client.calls.recent({ session, limit: 100 }).catch(() => null)
    const made = recent?.calls.find((each) => each.callId === callId)
    if (made) navigate(`/calls/${made.uid}`)
  }
  if (isIncomplete(input))
    return <span className="text-sm text-soft">It has hidden arguments, so it cannot be run again from here.</span>
  return (
    <>
      <button type="button" className="button button-small" onClick={() => setKey(randomKey())}>
        Run again
      </button>
      {key !== null && (
        <Confirm
          title={`Run ${nameOf(shown(name))} again`}
          consequence={
            'A new call runs with the same arguments, under your name, and asks if the policy says so. Effects of this ' +
            'call are not undone, so the same may happen twice.'
          }
          action="Run it again"
          tone="go"
          run={run}
          onClose={() => setKey(null)}
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
