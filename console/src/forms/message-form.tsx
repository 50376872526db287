// A field for a message to a model or a task. It is emptied when the message has been sent.

import type { ReactNode } from 'react'
import { formText } from './form-text.ts'
import { SubmitForm } from './submit-form.tsx'

interface MessageFormProps {
  readonly label: string
  readonly button: string
  readonly send: (text: string) => Promise<void>
}

export const MessageForm = ({ label, button, send }: MessageFormProps): ReactNode => (
  <SubmitForm
    send={async (data) => {
      const text = formText(data, 'text')
      return text === '' ? 'The message is empty.' : send(text)
    }}
    onDone={() => {}}
    label={button}
    tone="plain"
    onClose={null}
  >
    <label className="mb-2 block">
      <span className="any mb-1 block text-sm text-soft">{label}</span>
      <textarea name="text" rows={2} className="field" required />
    </label>
  </SubmitForm>
)
