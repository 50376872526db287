// Asks before an action, with its consequence.

import type { ReactNode } from 'react'
import { Dialog } from '../ui/parts.tsx'
import { SubmitForm } from './submit-form.tsx'

interface ConfirmProps {
  readonly title: string
  /** The effects of the action, and its limits. */
  readonly consequence: string
  readonly action: string
  readonly tone?: 'stop' | 'go'
  readonly run: () => Promise<unknown>
  readonly onClose: () => void
}

/** The dialog stays open with the error if the action fails. */
export const Confirm = ({ title, consequence, action, tone = 'stop', run, onClose }: ConfirmProps): ReactNode => (
  <Dialog title={title} onClose={onClose}>
    <SubmitForm
      send={async () => void (await run())}
      onDone={onClose}
      label={action}
      tone={tone}
      onClose={onClose}
      close="Close"
      focusButton
    >
      <p className="wrap mb-4">{consequence}</p>
    </SubmitForm>
  </Dialog>
)
