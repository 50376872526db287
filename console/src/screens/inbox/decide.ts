// Sends a decision, and says in words what became of it.

import type { client as Client } from '../../api/client.ts'
import { client, messageOf, queryClient } from '../../api/client.ts'
import { notify } from '../../ui/notices.tsx'
import { shown } from '../../ui/shown.ts'
import { changesOf } from './changes.tsx'
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
  // A vote that leaves the request open is no decision yet.
  if (answer.answer !== 'accepted' || answer.status === 'pending') ownDecisions.delete(item.id)
  void queryClient.invalidateQueries({ queryKey: ['inbox'] })
  void queryClient.invalidateQueries({ queryKey: ['item', item.id] })
  return resultOf(item, decision, answer)
}

const statusWords: Readonly<Record<string, string>> = {
  approved: 'Approved',
  denied: 'Denied',
  edited: 'Approved with changes',
  answered: 'Answered',
}

/** The summary is of the requested arguments, so the changes are named beside it. */
function whatWasDecided({ preview: { summary }, args }: Item, { edit }: Decision): string {
  if (edit === undefined) return summary
  const changes = changesOf(args, edit).map(({ name, from, to }) => `${name} ${from ?? 'not set'} → ${to ?? 'not set'}`)
  return `${shown(changes.join(', ').slice(0, 200))} (requested: ${summary})`
}

function resultOf(item: Item, decision: Decision, answer: Answer): string | null {
  const { summary } = item.preview
  if (answer.answer === 'accepted') {
    if (answer.status === 'pending')
      notify(`Your approval counts, ${answer.approvals} of ${answer.quorum}: ${summary} It still waits.`)
    else {
      const text = `${statusWords[answer.status] ?? 'Decided'}: ${whatWasDecided(item, decision)}`
      const rule = answer.rule === undefined ? '' : ' From now on such calls run without asking; see Policy.'
      notify(`${text}${rule}`)
      addDecided({ call: item.call, session: item.session, text })
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
