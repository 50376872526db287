// Cancels the open calls of a filtered list, after a dialog that counts them.

import { type ReactNode, useState } from 'react'
import { client, queryClient } from '../../api/client.ts'
import { useMay } from '../../shell/me.tsx'
import { notify } from '../../ui/notices.tsx'
import { Confirm } from '../../forms/confirm.tsx'
import type { CallRow } from './call-words.ts'
import { forEachCall, maxCalls } from './each-call.ts'

interface BulkCancelProps {
  readonly calls: readonly CallRow[]
  /** The whole list is loaded. */
  readonly isWhole: boolean
}

export function BulkCancel({ calls, isWhole }: BulkCancelProps): ReactNode {
  const mayCall = useMay('call')
  const [chosen, choose] = useState<readonly CallRow[] | null>(null)
  const open = calls.filter(({ settledAt }) => settledAt === null).slice(0, maxCalls)
  if (!mayCall || (open.length === 0 && !chosen)) return null
  return (
    <>
      <button type="button" className="button" onClick={() => choose(open)}>
        Cancel these
      </button>
      {chosen && (
        <Confirm
          title={chosen.length === 1 ? 'Cancel 1 open call' : `Cancel ${chosen.length} open calls`}
          consequence={
            (isWhole
              ? 'These are the open calls of the list as it is filtered now'
              : `These are the open calls among the ${calls.length} of the list that are loaded; scroll down to load more`) +
            (chosen.length === maxCalls ? `, the first ${maxCalls} of them` : '') +
            '. The tools are asked to stop, and the calls that they started are cancelled with them. Effects that have ' +
            'already happened are not undone.'
          }
          action={chosen.length === 1 ? 'Cancel the call' : `Cancel ${chosen.length} calls`}
          run={() => cancelAll(chosen)}
          onClose={() => choose(null)}
        />
      )}
    </>
  )
}

async function cancelAll(calls: readonly CallRow[]): Promise<void> {
  const counts = { cancelled: 0, already_settled: 0 }
  const { failed, problem } = await forEachCall(calls, async ({ session, uid }) => {
    const { answer } = await client.calls.cancel({ session, call: uid })
    counts[answer]++
  })
  void queryClient.invalidateQueries({ queryKey: ['calls'] })
  notify(`${counts.cancelled} cancelled, ${counts.already_settled} had ended before, ${failed} failed.`)
  if (failed > 0) throw problem
}
