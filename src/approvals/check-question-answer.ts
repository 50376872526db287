// Checks a person's answer to a question: a text, a secret or a choice. Called by decide.ts.

import type { QuestionShape } from '../store/records/approval-request.ts'
import type { Json } from '../core/tool-value.ts'

const maxAnswerLength = 16 * 1024

/** The value the body receives, or the problem with the answer. */
export function checkAnswer(
  question: QuestionShape,
  answer: Json,
): { readonly value: Json } | { readonly problem: string } {
  if (question.kind !== 'choice') {
    if (typeof answer !== 'string' || answer === '' || answer.length > maxAnswerLength)
      return {
        problem: `The answer must be a string of 1 to ${maxAnswerLength} characters. The question is still open.`,
      }
    return { value: answer }
  }
  const { choices, several } = question
  const options = `one of ${choices.map((each) => JSON.stringify(each)).join(', ')}`
  if (!several)
    return choices.includes(answer as string)
      ? { value: answer }
      : { problem: `The answer must be ${options}. The question is still open.` }
  const isList = Array.isArray(answer) && answer.length > 0 && answer.every((each) => choices.includes(each as string))
  if (!isList || new Set(answer).size !== answer.length)
    return {
      problem: `The answer must be a list without duplicates, each entry ${options}. The question is still open.`,
    }
  return { value: answer }
}
