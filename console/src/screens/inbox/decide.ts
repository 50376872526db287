// Sends a decision, and says in words what became of it.

import type { client as Client } from '../../api/client.ts'
import { client, messageOf, queryClient } from '../../api/client.ts'
import { notify } from '../../ui/notices.tsx'
import type { Item } from './item-words.ts'
import { addDecided } from './just-decided.tsx'

type Decision = Omit<Parameters<(typeof Client)['inbox']['decide']>[0], 'item' | 'fingerprint'>
type Answer = Awaited<ReturnType<(typeof Client)['inbox']['decide']>>

/** Decisions of this page: their rows disappear without a notice about another person. */
export const ownDecisions = new Set<string>()

/** Null if the item is decided, by this decision or another one; otherwise why not. */
export async function decide(item: Item, decision: Decision): Promise<string | null> {
  let answer: Answer
  ownDecisions.add(item.id)
  try {
    answer = await client.inbox.decide({ item: item.id, fingerprint: item.fingerprint, ...decision })
  } catch (error) {
    ownDecisions.delete(item.id)
    return messageOf(error)
  }
  if (answer.answer !== 'accepted') ownDecisions.delete(item.id)
  void queryClient.invalidateQueries({ queryKey: ['inbox'] })
  void queryClient.invalidateQueries({ queryKey: ['item', item.id] })
  return resultOf(item, answer)
}

const statusWords: Readonly<Record<string, string>> = {
  approved: 'Approved',
  denied: 'Denied',
  edited: 'Approved with your arguments',
  answered: 'Answered',
}

function resultOf(item: Item, answer: Answer): string | null {
  const { summary } = item.preview
  if (answer.answer === 'accepted') {
    if (answer.status === 'pending')
      notify(`Your approval counts, ${answer.approvals} of ${answer.quorum}: ${summary} It still waits.`)
    else {
      notify(`${statusWords[answer.status]}: ${summary}`)
      addDecided(item, statusWords[answer.status] ?? 'Decided')
    }
    return null
  }
  if (answer.answer === 'already_decided') {
    const by = answer.by.map((vote) => vote.by).join(', ')
    notify(`Already ${answer.status}${by === '' ? '' : ` by ${by}`}: ${summary} Your decision changed nothing.`)
    return null
  }
  if (answer.answer === 'unknown') {
    notify(`The request has ended with its call: ${summary} Your decision changed nothing.`)
    return null
  }
  return answer.answer === 'invalid' ? answer.problems.join('\n') : answer.message
}
