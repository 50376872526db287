// Questions to people (POL-5): a text, a secret, or a choice. Pure.

import type { QuestionShape } from '../store/records/approval-request.ts'
import type { Json } from '../core/value.ts'

const longestAnswer = 16 * 1024

/** The answer as the body gets it, or what is wrong with it. */
export function answerTo(
  question: QuestionShape,
  given: Json,
): { readonly value: Json } | { readonly problem: string } {
  if (question.kind !== 'choice') {
    if (typeof given !== 'string' || given === '' || given.length > longestAnswer)
      return { problem: `The answer must be a text of 1 to ${longestAnswer} characters. The question is still open.` }
    return { value: given }
  }
  const { choices, several } = question
  const one = `one of ${choices.map((each) => JSON.stringify(each)).join(', ')}`
  if (!several)
    return choices.includes(given as string)
      ? { value: given }
      : { problem: `The answer must be ${one}. The question is still open.` }
  const isList = Array.isArray(given) && given.length > 0 && given.every((each) => choices.includes(each as string))
  if (!isList || new Set(given).size !== given.length)
    return { problem: `The answer must be a list, each ${one}. The question is still open.` }
  return { value: given }
}
