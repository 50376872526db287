// The words for an inbox item: what is asked, and what happens without an answer.

import type { client } from '../../api/client.ts'
import { shown } from '../../ui/shown.ts'
import { jsonText } from '../../ui/values.tsx'
import type { Tone } from '../../ui/parts.tsx'

export type Item = Awaited<ReturnType<typeof client.inbox.list>>[number]
type Kind = Item['kind']

/** The item with its texts as people read them. Ids, arguments and choices stay as the server knows them. */
export const shownItem = (item: Item): Item => ({
  ...item,
  preview: { ...item.preview, summary: shown(item.preview.summary) },
  title: shown(item.title),
  reason: shown(item.reason),
  effect: shown(item.effect),
  ...(item.question ? { question: { ...item.question, text: shown(item.question.text) } } : {}),
})

export const kindWords: Readonly<Record<Kind, { readonly label: string; readonly tone: Tone; readonly asks: string }>> =
  {
    approval: { label: 'Needs approval', tone: 'wait', asks: 'A call waits for your approval' },
    question: { label: 'Asks a question', tone: 'accent', asks: 'A tool asks a question' },
    finding: { label: 'Outcome unknown', tone: 'stop', asks: 'A worker stopped in the middle of a call' },
    connection: { label: 'Needs an account', tone: 'accent', asks: 'A call needs an account' },
  }

/** The end of a request without a decision, as in "Denied automatically at 16:20". */
export function expiryText({ kind, question }: Item): string {
  if (kind === 'approval') return 'Denied automatically'
  if (kind === 'finding') return 'The outcome stays unknown'
  if (kind === 'question')
    return question?.default === undefined
      ? 'The tool continues without an answer'
      : `Answered with ${jsonText(question.default).slice(0, 100)}`
  return 'The call fails'
}

/** The consequence of each decision, shown before it is made. `me`: the person who would decide. */
export const consequence = {
  approve: ({ kind, quorum, approvals }: Item, me: string): string => {
    const missing = quorum - approvals.length
    if (approvals.some(({ by }) => by === me))
      return `You have approved it already. The call runs when ${missing} more ${missing === 1 ? 'person has' : 'people have'} approved.`
    if (missing > 1) return `Your approval is one of ${quorum}; the call runs when ${missing - 1} more have approved.`
    return kind === 'finding'
      ? 'The tool runs again. If the first attempt took effect, the effect happens twice.'
      : 'The call runs with exactly the arguments shown, as soon as a worker is free.'
  },
  deny: ({ kind }: Item): string => {
    if (kind === 'finding') return 'The call ends with an unknown outcome. The model reads your reason.'
    if (kind === 'question') return 'The tool learns that you decline to answer, and continues without an answer.'
    return 'The call does not run. The model reads your reason.'
  },
  edit: ({ quorum }: Item): string =>
    quorum > 1
      ? `Your arguments replace the requested ones, and people are asked again: the call needs ${quorum} approvals of them.`
      : 'The call runs with your arguments. The model reads that a person changed them.',
  answer: ({ kind }: Item): string =>
    kind === 'approval'
      ? 'The tool does not run. The model gets your result instead, and reads that a person gave it.'
      : kind === 'finding'
        ? 'The call ends as a success with this result. The tool does not run again.'
        : 'The call continues with your answer.',
} as const

/** By the verb of a decision, or by the status that it led to. */
export const decidedWords: Readonly<Record<string, string>> = {
  approved: 'approved',
  denied: 'denied',
  edited: 'approved with changes',
  answered: 'answered',
  approve: 'approved',
  deny: 'denied',
  edit: 'approved with changes',
  answer: 'answered',
}
