// Decides about several requests of the same tool at once. Each is a decision of its own, bound to what was shown.

import { type ReactNode, useState } from 'react'
import { formText } from '../../forms/form-text.ts'
import { Reason, SubmitForm } from '../../forms/submit-form.tsx'
import { Dialog } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { decide } from './decide.ts'
import type { Item } from './item-words.ts'

interface BulkProps {
  readonly items: readonly Item[]
  readonly onDone: () => void
}

type Verb = 'approve' | 'deny'

export function Bulk({ items, onDone }: BulkProps): ReactNode {
  /** Those that were shown when the dialog opened: others that arrive meanwhile are not decided. */
  const [open, setOpen] = useState<{ readonly verb: Verb; readonly items: readonly Item[] } | null>(null)
  if (items.length === 0 && open === null) return null
  return (
    <>
      {items.length > 0 && (
        <div
          role="toolbar"
          aria-label="Selected requests"
          className="panel sticky bottom-3 mt-3 flex flex-wrap items-center gap-2 p-3 shadow-lg"
        >
          <span className="any flex-1">
            {items.length} selected of <code>{shown(items[0]?.tool ?? '')}</code>
          </span>
          <button type="button" className="button button-go" onClick={() => setOpen({ verb: 'approve', items })}>
            Approve selected
          </button>
          <button type="button" className="button" onClick={() => setOpen({ verb: 'deny', items })}>
            Deny selected
          </button>
          <button type="button" className="button" onClick={onDone}>
            Clear
          </button>
        </div>
      )}
      {open && (
        <BulkDialog
          {...open}
          onClose={() => setOpen(null)}
          onDone={() => {
            setOpen(null)
            onDone()
          }}
        />
      )}
    </>
  )
}

interface BulkDialogProps extends BulkProps {
  readonly verb: Verb
  readonly onClose: () => void
}

function BulkDialog({ items, verb, onClose, onDone }: BulkDialogProps): ReactNode {
  const isApproval = verb === 'approve'
  /** A second try leaves out the requests that are decided. */
  const [left, setLeft] = useState(items)
  const needsMore = left.some(({ quorum, approvals }) => quorum - approvals.length > 1)
  async function send(data: FormData): Promise<string | null> {
    const reason = formText(data, 'reason')
    const decision = isApproval
      ? { approve: true as const }
      : { deny: true as const, ...(reason === '' ? {} : { reason }) }
    const refused: Item[] = []
    const problems: string[] = []
    for (const item of left) {
      const problem = await decide(item, decision)
      if (problem === null) continue
      refused.push(item)
      problems.push(`${item.preview.summary} ${problem}`)
    }
    setLeft(refused)
    return refused.length === 0 ? null : problems.join('\n')
  }
  return (
    <Dialog title={`${isApproval ? 'Approve' : 'Deny'} ${left.length} requests`} onClose={onClose}>
      <SubmitForm
        send={send}
        onDone={onDone}
        label={isApproval ? `Approve all ${left.length}` : `Deny all ${left.length}`}
        tone={isApproval ? 'go' : 'stop'}
        onClose={onClose}
        focusButton={isApproval}
      >
        <p className="mb-2 text-soft">
          {isApproval
            ? `These calls run with the requested arguments${needsMore ? '. Those that need more approvals wait until they have them' : ''}.`
            : 'These calls do not run. The model reads your reason.'}
        </p>
        <ul className="mb-4 max-h-72 list-disc overflow-y-auto rounded-md bg-sunk py-2 pr-3 pl-7" tabIndex={0}>
          {left.map(({ id, preview }) => (
            <li key={id} className="any">
              {preview.summary}
            </li>
          ))}
        </ul>
        {!isApproval && <Reason />}
      </SubmitForm>
    </Dialog>
  )
}
