// The answer to a question (a text, a secret, one or several choices), or a result in place of the tool's.

import { type ReactNode, useState } from 'react'
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

/** JSON if it can be read as such, otherwise the text itself. */
function resultOf(text: string): { readonly value: unknown; readonly isJson: boolean } {
  try {
    return { value: JSON.parse(text), isJson: true }
  } catch {
    return { value: text, isJson: false }
  }
}

export function AnswerForm({ item, onClose, onDecided }: AnswerFormProps): ReactNode {
  const [text, setText] = useState('')
  const { question } = item
  const result = resultOf(text)
  const answerOf = (data: FormData): unknown => {
    if (!question) return result.value
    return question.kind === 'choice' && question.several ? data.getAll('answer') : data.get('answer')
  }
  return (
    <SubmitForm
      send={async (data) => decide(item, { answer: answerOf(data) as never })}
      onDone={onDecided}
      label={question ? 'Answer' : 'Use this result'}
      isDisabled={!question && text.trim() === ''}
      onClose={onClose}
    >
      {question ? (
        <Question question={question} />
      ) : (
        <label className="mb-3 block">
          <span className="mb-1 block font-medium">Result</span>
          <textarea
            rows={4}
            className="field"
            data-autofocus
            spellCheck={false}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <span className="text-sm text-soft">
            {text.trim() === ''
              ? 'A text, or JSON such as {"refunded": true}.'
              : result.isJson
                ? 'The model gets it as JSON.'
                : 'The model gets it as a text.'}
          </span>
        </label>
      )}
    </SubmitForm>
  )
}

function Question({ question }: { readonly question: NonNullable<Item['question']> }): ReactNode {
  const { default: preset } = question
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
              defaultChecked={Array.isArray(preset) ? preset.includes(choice) : choice === preset}
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
        <textarea
          name="answer"
          rows={3}
          required
          defaultValue={preset === undefined ? '' : jsonText(preset)}
          className="field"
          data-autofocus
        />
      )}
    </label>
  )
}
