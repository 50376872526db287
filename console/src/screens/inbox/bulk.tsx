// Decides about several requests of the same tool at once. Each is a decision of its own, bound to what was shown.

import { type ReactNode, useState } from 'react'
import { formText } from '../../forms/form-text.ts'
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
  const [problems, setProblems] = useState<readonly string[]>([])
  const [isBusy, setBusy] = useState(false)
  const isApproval = verb === 'approve'
  async function send(reason: string): Promise<void> {
    if (isBusy) return
    setBusy(true)
    const why = reason === '' ? {} : { reason }
    const refused: string[] = []
    for (const item of items) {
      const problem = await decide(item, isApproval ? { approve: true } : { deny: true, ...why })
      if (problem !== null) refused.push(`${item.preview.summary} ${problem}`)
    }
    setBusy(false)
    setProblems(refused)
    if (refused.length === 0) onDone()
  }
  return (
    <Dialog title={`${isApproval ? 'Approve' : 'Deny'} ${items.length} requests`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send(formText(new FormData(event.currentTarget), 'reason'))
        }}
      >
        <p className="mb-2 text-soft">
          {isApproval
            ? 'These calls run now, with the arguments that they were proposed with.'
            : 'These calls do not run. The model reads your reason.'}
        </p>
        <ul className="mb-4 max-h-72 list-disc overflow-y-auto rounded-md bg-sunk py-2 pr-3 pl-7" tabIndex={0}>
          {items.map(({ id, preview }) => (
            <li key={id} className="any">
              {preview.summary}
            </li>
          ))}
        </ul>
        {!isApproval && (
          <label className="mb-3 block">
            <span className="mb-1 block font-medium">Reason (optional)</span>
            <textarea name="reason" rows={2} maxLength={1_000} className="field" data-autofocus />
          </label>
        )}
        {problems.map((problem) => (
          <p key={problem} role="alert" className="wrap mb-2 text-stop">
            {problem}
          </p>
        ))}
        <div className="flex gap-2">
          <button
            type="submit"
            disabled={isBusy}
            data-autofocus={isApproval || undefined}
            className={`button ${isApproval ? 'button-go' : 'button-stop'}`}
          >
            {isApproval ? `Approve all ${items.length}` : `Deny all ${items.length}`}
          </button>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
