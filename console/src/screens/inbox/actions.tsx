// The buttons and keys with which an item is decided. The list and the decision page share them.

import { type ReactNode, useState } from 'react'
import { useMay, useMe } from '../../shell/me.tsx'
import { useKeys } from '../../ui/keys.ts'
import { shown } from '../../ui/shown.ts'
import { DecisionDialog, type DecisionVerb } from './decision-dialogs.tsx'
import type { Item } from './item-words.ts'

interface Verb {
  readonly verb: DecisionVerb
  readonly label: string
  readonly key?: string
  readonly style: string
}

/** A token is stored for the person who enters it, so only the caller can connect an account of the caller. */
export const mayConnect = ({ kind, principal }: Item, me: string): boolean =>
  kind !== 'connection' || principal === null || principal === me

/** Most likely first. `me`: the person who would decide. */
export function verbsOf(item: Item, me: string): readonly Verb[] {
  if (!mayConnect(item, me)) return []
  const has = (verb: DecisionVerb): boolean => item.verbs.includes(verb)
  const go = 'button-go'
  const plain = ''
  const all: readonly (Verb | false)[] =
    item.kind === 'finding'
      ? [
          has('answer') && { verb: 'answer', label: 'It happened', key: 'e', style: plain },
          has('approve') && { verb: 'approve', label: 'It did not: run again', key: 'a', style: plain },
          has('deny') && { verb: 'deny', label: 'Leave it unknown', key: 'd', style: plain },
        ]
      : item.kind === 'question'
        ? [
            has('answer') && { verb: 'answer', label: 'Answer', key: 'a', style: go },
            has('deny') && { verb: 'deny', label: 'Decline', key: 'd', style: plain },
          ]
        : [
            has('approve') && {
              verb: 'approve',
              label: item.kind === 'connection' ? 'Connect' : 'Approve',
              key: 'a',
              style: go,
            },
            has('edit') && { verb: 'edit', label: 'Edit', key: 'e', style: plain },
            has('deny') && { verb: 'deny', label: 'Deny', key: 'd', style: plain },
            has('answer') && { verb: 'answer', label: 'Answer instead', style: plain },
          ]
  return all.filter((each) => each !== false)
}

interface ActionsProps {
  readonly item: Item
  readonly hasEnded: boolean
  /** A dialog was opened or closed. */
  readonly onDeciding: (isDeciding: boolean) => void
  readonly onDecided: () => void
}

/** All buttons of an item, with its keys. */
export function Actions({ item, hasEnded, onDeciding, onDecided }: ActionsProps): ReactNode {
  const [verb, choose] = useState<DecisionVerb | null>(null)
  const setVerb = (next: DecisionVerb | null): void => {
    choose(next)
    onDeciding(next !== null)
  }
  const mayDecide = useMay('decide')
  const { principal: me } = useMe()
  const verbs = mayDecide ? verbsOf(item, me) : []
  useKeys(Object.fromEntries(verbs.flatMap(({ key, verb }) => (key === undefined ? [] : [[key, () => setVerb(verb)]]))))
  if (!mayDecide) return <p className="text-soft">Your login may look, but not decide. It needs the role approver.</p>
  if (!mayConnect(item, me))
    return <p className="any text-soft">Only {shown(item.principal ?? '')} can connect this account.</p>
  return (
    <div className="flex flex-wrap gap-2">
      {verbs.map(({ verb, label, key, style }) => (
        <button
          key={verb}
          type="button"
          className={`button ${style}`}
          aria-keyshortcuts={key}
          onClick={() => setVerb(verb)}
        >
          {label}
          {key !== undefined && <kbd className="text-xs opacity-80 max-md:hidden">{key}</kbd>}
        </button>
      ))}
      {verb !== null && (
        <DecisionDialog
          item={item}
          verb={verb}
          hasEnded={hasEnded}
          onClose={() => setVerb(null)}
          onDecided={() => {
            setVerb(null)
            onDecided()
          }}
        />
      )}
    </div>
  )
}
