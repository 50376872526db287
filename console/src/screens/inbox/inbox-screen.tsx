// The first screen: what waits for a person, the earliest deadline first.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { onDecision } from '../../api/live.ts'
import { inboxQuery } from '../../shell/inbox-query.ts'
import { useMay, useMe } from '../../shell/me.tsx'
import { useKeys } from '../../ui/keys.ts'
import { notify } from '../../ui/notices.tsx'
import { Empty } from '../../ui/command.tsx'
import { Badge, Failed, Loading, ScreenTitle, usePageTitle } from '../../ui/parts.tsx'
import { shown } from '../../ui/shown.ts'
import { Ago, Left } from '../../ui/time.tsx'
import { toolPath } from '../tools/catalogue.ts'
import { callCommand, useExampleCall } from '../tools/example-call.ts'
import { verbsOf } from './actions.tsx'
import { Bulk } from './bulk.tsx'
import { ownDecisions } from './decide.ts'
import { DecisionDialog, type DecisionVerb } from './decision-dialogs.tsx'
import { JustDecided } from './just-decided.tsx'
import { decidedWords, expiryText, type Item, kindWords } from './item-words.ts'

const byDeadline = (a: Item, b: Item): number => a.expiresAt - b.expiresAt || a.askedAt - b.askedAt

/** Says who decided an item that disappears from the list. */
function useDecidedByOthers(items: readonly Item[]): void {
  const shown = useRef(items)
  shown.current = items
  useEffect(
    () =>
      onDecision((id, { by, decision }) => {
        const item = shown.current.find((each) => each.id === id)
        if (item && !ownDecisions.has(id))
          notify(`${by} ${decidedWords[decision] ?? 'decided'}: ${item.preview.summary}`)
      }),
    [],
  )
}

/** The largest page of the inbox. */
const maxItems = 1_000

interface OpenDialog {
  readonly item: Item
  readonly verb: DecisionVerb
}

export function InboxScreen(): ReactNode {
  const query = useQuery(inboxQuery)
  const items = (query.data ?? []).toSorted(byDeadline)
  const isCut = items.length >= maxItems
  // Here, so that a dialog outlives its row.
  const [open, setOpen] = useState<OpenDialog | null>(null)
  usePageTitle(items.length === 0 ? 'Inbox' : `(${isCut ? `${maxItems}+` : items.length}) Inbox`)
  useDecidedByOthers(items)
  if (query.error && !query.data) return <Failed error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading />
  return (
    <>
      <ScreenTitle>Inbox</ScreenTitle>
      {items.length === 0 ? (
        <>
          <JustDecided />
          <NothingWaits />
        </>
      ) : (
        <>
          <p className="mb-3 text-soft">Requests of your AI agents that need the decision of a person.</p>
          <List items={items} onVerb={(item, verb) => setOpen({ item, verb })} />
          {isCut && <p className="mt-2 text-soft">These are the first {maxItems.toLocaleString()} requests.</p>}
          <div className="mt-6">
            <JustDecided />
          </div>
        </>
      )}
      {open && (
        <DecisionDialog
          item={open.item}
          verb={open.verb}
          hasEnded={!items.some(({ id }) => id === open.item.id)}
          onClose={() => setOpen(null)}
          onDecided={() => setOpen(null)}
        />
      )}
    </>
  )
}

/** A destructive tool asks without any rule. */
function NothingWaits(): ReactNode {
  const mayCall = useMay('call')
  const example = useExampleCall(({ hints }) => hints?.destructive === true)
  return (
    <Empty title="Nothing waits for you" command={mayCall ? callCommand(example) : null}>
      A request appears here when a tool needs an approval, asks a question, or stops in the middle of an effect.
      {mayCall && example && (
        <>
          {' '}
          <Link href={toolPath(example.name)} className="text">
            Try {example.name}
          </Link>
          {', or run it in a terminal:'}
        </>
      )}
    </Empty>
  )
}

interface ListProps {
  readonly items: readonly Item[]
  readonly onVerb: (item: Item, verb: DecisionVerb) => void
}

/**
 * The row that keys act on. If it disappears, no row is current until a person chooses one: a key that is pressed at that
 * moment must not decide another request.
 */
function useCurrentRow(items: readonly Item[], rows: { readonly current: ReadonlyMap<string, HTMLElement> }) {
  const [currentId, setCurrentId] = useState(items[0]?.id)
  /** Where the current row is, or was. */
  const place = useRef(0)
  const index = items.findIndex(({ id }) => id === currentId)
  if (index !== -1) place.current = index
  const moveTo = (next: number): void => {
    const item = items[Math.min(Math.max(next, 0), items.length - 1)]
    if (!item) return
    setCurrentId(item.id)
    rows.current.get(item.id)?.focus()
  }
  // The next row takes the focus of a row that was decided here.
  const ids = items.map(({ id }) => id).join(' ')
  useEffect(() => {
    const wasOwn = currentId !== undefined && ownDecisions.has(currentId)
    if (index === -1 && wasOwn && (document.activeElement ?? document.body) === document.body) moveTo(place.current)
  }, [ids])
  return {
    current: index === -1 ? undefined : items[index],
    choose: setCurrentId,
    next: () => moveTo(index === -1 ? place.current : index + 1),
    previous: () => moveTo(index === -1 ? place.current : index - 1),
  }
}

function List({ items, onVerb }: ListProps): ReactNode {
  const [, navigate] = useLocation()
  const mayDecide = useMay('decide')
  const { principal: me } = useMe()
  const rows = useRef(new Map<string, HTMLElement>())
  const { current, choose, next, previous } = useCurrentRow(items, rows)
  const [selectedIds, select] = useState<ReadonlySet<string>>(new Set())
  const selected = items.filter(({ id }) => selectedIds.has(id))
  const maySelect = (item: Item): boolean =>
    mayDecide && item.kind === 'approval' && (selected.length === 0 || selected[0]?.tool === item.tool)
  const toggle = (item: Item): void => {
    const chosen = new Set(selected.map(({ id }) => id))
    if (!chosen.delete(item.id) && maySelect(item)) chosen.add(item.id)
    select(chosen)
  }
  const verbs = current && mayDecide ? verbsOf(current, me) : []
  useKeys({
    j: next,
    k: previous,
    x: current && (() => toggle(current)),
    ...Object.fromEntries(
      verbs.flatMap(({ key, verb }) => (key === undefined || !current ? [] : [[key, () => onVerb(current, verb)]])),
    ),
    Enter: current && (() => navigate(`/inbox/${current.id}`)),
  })
  return (
    <>
      <ol className="flex flex-col gap-2">
        {items.map((item) => (
          <Row
            key={item.id}
            item={item}
            isCurrent={item === current}
            isSelected={selectedIds.has(item.id)}
            onSelect={maySelect(item) ? () => toggle(item) : null}
            onFocus={() => choose(item.id)}
            onVerb={(verb) => onVerb(item, verb)}
            register={(element) => {
              if (element) rows.current.set(item.id, element)
              else rows.current.delete(item.id)
            }}
          />
        ))}
      </ol>
      <Bulk items={selected} onDone={() => select(new Set())} />
    </>
  )
}

interface RowProps {
  readonly item: Item
  readonly isCurrent: boolean
  readonly isSelected: boolean
  /** Null: it cannot be decided together with the selected ones. */
  readonly onSelect: (() => void) | null
  readonly onFocus: () => void
  readonly onVerb: (verb: DecisionVerb) => void
  readonly register: (element: HTMLElement | null) => void
}

function Row({ item, isCurrent, isSelected, onSelect, onFocus, onVerb, register }: RowProps): ReactNode {
  const { label, tone } = kindWords[item.kind]
  const mayDecide = useMay('decide')
  const { principal: me } = useMe()
  return (
    <li
      className={`panel grid gap-x-4 gap-y-2 p-3 md:grid-cols-[1fr_auto] ${
        isCurrent ? 'shadow-[inset_4px_0_0_var(--color-accent)]' : ''
      }`}
      onFocus={onFocus}
    >
      <div className="min-w-0">
        <p className="mb-1 flex flex-wrap items-center gap-x-2">
          {onSelect && (
            <input
              type="checkbox"
              className="size-5"
              checked={isSelected}
              onChange={onSelect}
              aria-label={`Select: ${item.preview.summary}`}
            />
          )}
          <Badge tone={tone}>{label}</Badge>
          <span className="any text-sm text-soft">
            <code>{shown(item.tool)}</code>
            {item.principal !== null && <> for {shown(item.principal)}</>} in {shown(item.session)}
          </span>
        </p>
        <Link ref={register} href={`/inbox/${item.id}`} className="text any font-medium">
          {item.preview.summary}
        </Link>
        {item.reason !== item.preview.summary && <p className="any text-sm text-soft">{item.reason}</p>}
        <p className="text-sm text-soft">
          Asked <Ago at={item.askedAt} />. {expiryText(item)} <Left until={item.expiresAt} /> without a decision.
          {item.quorum > 1 && ` ${item.approvals.length} of ${item.quorum} approvals.`}
        </p>
      </div>
      {mayDecide && (
        <div className="flex flex-wrap items-center gap-2">
          {verbsOf(item, me)
            .slice(0, 3)
            .map(({ verb, label, style, key }) => (
              <button
                key={verb}
                type="button"
                className={`button ${style}`}
                onClick={() => onVerb(verb)}
                aria-label={`${label}: ${item.preview.summary}`}
                aria-keyshortcuts={isCurrent ? key : undefined}
              >
                {label}
              </button>
            ))}
        </div>
      )}
    </li>
  )
}
