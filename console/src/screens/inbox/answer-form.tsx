// The answer to a question (a text, a secret, one or several choices), or a result in place of the tool's.

import { type ReactNode, useState } from 'react'
import { JsonField } from '../../forms/schema-form.tsx'
import { SubmitForm } from '../../forms/submit-form.tsx'
import { shown } from '../../ui/shown.ts'
import { jsonText } from '../../ui/values.tsx'
import { decide } from './decide.ts'
import type { Item } from './item-words.ts'

interface AnswerFormProps {
  readonly item: Item
  readonly onClose: () => void
  readonly onDecided: () => void
}

export function AnswerForm({ item, onClose, onDecided }: AnswerFormProps): ReactNode {
  const [result, setResult] = useState<unknown>({})
  const [isUnreadable, setUnreadable] = useState(false)
  const { question } = item
  const answerOf = (data: FormData): unknown => {
    if (!question) return result
    return question.kind === 'choice' && question.several ? data.getAll('answer') : data.get('answer')
  }
  return (
    <SubmitForm
      send={async (data) =>
        isUnreadable ? 'The result is not JSON. Correct it first.' : decide(item, { answer: answerOf(data) as never })
      }
      onDone={onDecided}
      label={question ? 'Answer' : 'Use this result'}
      onClose={onClose}
    >
      {question ? (
        <Question question={question} />
      ) : (
        <div className="mb-3">
          <p className="mb-1 font-medium">Result as JSON</p>
          <JsonField
            label="Result as JSON"
            value={result}
            isRequired
            onChange={setResult}
            onUnreadable={setUnreadable}
          />
        </div>
      )}
    </SubmitForm>
  )
}

function Question({ question }: { readonly question: NonNullable<Item['question']> }): ReactNode {
  const preset = question.default === undefined ? '' : jsonText(question.default)
  if (question.kind === 'choice')
    return (
      <fieldset className="mb-3">
        <legend className="sr-only">{question.text}</legend>
        {question.choices.map((choice, index) => (
          <label key={choice} className="flex items-center gap-2 py-1">
            <input
              type={question.several ? 'checkbox' : 'radio'}
              name="answer"
              value={choice}
              required={!question.several}
              defaultChecked={choice === preset}
              data-autofocus={index === 0 || undefined}
            />
            <span className="any">{shown(choice)}</span>
          </label>
        ))}
      </fieldset>
    )
  return (
    <label className="mb-3 block">
      <span className="mb-1 block font-medium">
        {question.kind === 'secret' ? 'Only the tool gets it; the model does not' : 'Your answer'}
      </span>
      {question.kind === 'secret' ? (
        <input name="answer" type="password" autoComplete="off" required className="field" data-autofocus />
      ) : (
        <textarea name="answer" rows={3} required defaultValue={preset} className="field" data-autofocus />
      )}
    </label>
  )
}
