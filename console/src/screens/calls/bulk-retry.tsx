// Runs the failed calls of a filtered list again, after a dialog that counts them. Each makes a new call that names the
// old one; the old ones never change.

import { type ReactNode, useState } from 'react'
import { client, queryClient } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Confirm } from '../../forms/confirm.tsx'
import { type CallRow, isError } from './call-words.ts'
import { forEachCall, maxCalls } from './each-call.ts'
import { isIncomplete, randomKey, rerunMeta } from './retry.tsx'

interface Chosen {
  readonly calls: readonly CallRow[]
  /** Part of the idempotency keys: pressed twice, or after a lost answer, the dialog starts each call once. */
  readonly key: string
  /** Calls that this dialog has run again or left out. */
  readonly done: Map<string, 'started' | 'incomplete'>
}

/** Turns and other calls of the runtime itself are not run by hand. */
const isRetried = (call: CallRow): boolean =>
  call.status === 'failure' && isError(call) && !call.name.startsWith('pawl:')

export function BulkRetry({ calls }: { readonly calls: readonly CallRow[] }): ReactNode {
  const mayCall = useMay('call')
  const [chosen, choose] = useState<Chosen | null>(null)
  const failed = calls.filter(isRetried).slice(0, maxCalls)
  if (!mayCall || (failed.length === 0 && !chosen)) return null
  const count = chosen?.calls.length ?? 0
  return (
    <>
      <button
        type="button"
        className="button"
        onClick={() => choose({ calls: failed, key: randomKey(), done: new Map() })}
      >
        Run failed ones again
      </button>
      {chosen && (
        <Confirm
          title={count === 1 ? 'Run 1 failed call again' : `Run ${count} failed calls again`}
          consequence={
            'These are the failed calls of the list as it is filtered now' +
            (count === maxCalls ? `, the first ${maxCalls} of them` : '') +
            '. Each makes a new call with the same arguments, under your name, that names the old one and asks if the ' +
            'policy says so. The old calls do not change. Their effects are not undone, so the same may happen ' +
            'twice. Calls with hidden arguments are left out.'
          }
          action={count === 1 ? 'Run the call again' : `Run ${count} calls again`}
          tone="go"
          run={() => retryAll(chosen)}
          onClose={() => choose(null)}
        />
      )}
    </>
  )
}

async function retryAll({ calls, key, done }: Chosen): Promise<void> {
  const { failed, problem } = await forEachCall(
    calls.filter(({ uid }) => !done.has(uid)),
    async ({ uid, session, name }) => {
      const { input } = await client.calls.find({ call: uid })
      if (isIncomplete(input)) return void done.set(uid, 'incomplete')
      const idempotencyKey = `rerun-${key}-${uid}`
      await client.calls.run({ session, name, input, meta: rerunMeta(uid), until: 'accepted', idempotencyKey })
      done.set(uid, 'started')
    },
  )
  void queryClient.invalidateQueries({ queryKey: ['calls'] })
  const leftOut = [...done.values()].filter((what) => what === 'incomplete').length
  notify(`${done.size - leftOut} run again, ${leftOut} left out, ${failed} could not be started.`)
  if (failed > 0) throw problem
}
