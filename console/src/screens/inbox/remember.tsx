// "From now on": the rule that an approval adds, in the words that the person confirms.

import { type ReactNode, useState } from 'react'
import { clockTime } from '../../ui/time.tsx'
import type { Item } from './item-words.ts'

const scopes = {
  session: 'in this session',
  principal: 'of this caller',
  tenant: 'of everyone in the tenant',
} as const
type Scope = keyof typeof scopes

const durations = { '1h': 3_600_000, '1d': 86_400_000, '7d': 604_800_000 } as const
type Duration = keyof typeof durations
const durationNames: Readonly<Record<Duration, string>> = { '1h': '1 hour', '1d': '1 day', '7d': '7 days' }

export interface Rule {
  readonly scope: Scope
  readonly for: Duration
  readonly when?: Readonly<Record<string, unknown>>
}

/** A condition that a person can check at a glance: a number that is at most as large, or an equal text. */
interface Condition {
  readonly name: string
  readonly text: string
  readonly when: Readonly<Record<string, unknown>>
}

const maxLength = 80

function conditionsOf(args: unknown): Condition[] {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return []
  return Object.entries(args).flatMap(([name, value]): Condition[] => {
    // A dot in a name would select a field inside.
    if (!/^[\w-]+$/.test(name)) return []
    if (typeof value === 'number') return [{ name, text: `${name} ≤ ${value}`, when: { [name]: { lte: value } } }]
    if (typeof value === 'string' && value.length <= maxLength)
      return [{ name, text: `${name} = ${JSON.stringify(value)}`, when: { [name]: { eq: value } } }]
    return []
  })
}

interface RememberProps {
  readonly item: Item
  readonly rule: Rule | null
  readonly onChange: (rule: Rule | null) => void
}

export function Remember({ item, rule, onChange }: RememberProps): ReactNode {
  const conditions = conditionsOf(item.args)
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set(conditions.map(({ name }) => name)))
  const [scope, setScope] = useState<Scope>('session')
  const [duration, setDuration] = useState<Duration>('1d')
  const make = (names: ReadonlySet<string>, scope: Scope, duration: Duration): Rule => {
    const when = Object.assign({}, ...conditions.filter(({ name }) => names.has(name)).map((each) => each.when))
    return { scope, for: duration, ...(Object.keys(when).length === 0 ? {} : { when }) }
  }
  const change = (names = chosen, nextScope = scope, nextDuration = duration): void => {
    choose(names)
    setScope(nextScope)
    setDuration(nextDuration)
    onChange(make(names, nextScope, nextDuration))
  }
  const toggle = (name: string): void => {
    const names = new Set(chosen)
    if (!names.delete(name)) names.add(name)
    change(names)
  }
  const texts = conditions.filter(({ name }) => chosen.has(name)).map(({ text }) => text)
  return (
    <div className="mb-4 rounded-md border border-line p-3">
      <label className="flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          checked={rule !== null}
          onChange={(event) => onChange(event.target.checked ? make(chosen, scope, duration) : null)}
        />
        From now on, approve such calls without asking
      </label>
      {rule !== null && (
        <>
          <div className="mt-3 grid gap-3 sm:grid-cols-2">
            <label>
              <span className="text-sm text-soft">Calls</span>
              <select className="field" value={scope} onChange={(event) => change(chosen, event.target.value as Scope)}>
                {Object.entries(scopes)
                  .filter(([name]) => name !== 'principal' || item.principal !== null)
                  .map(([name, text]) => (
                    <option key={name} value={name}>
                      {text}
                    </option>
                  ))}
              </select>
            </label>
            <label>
              <span className="text-sm text-soft">For</span>
              <select
                className="field"
                value={duration}
                onChange={(event) => change(chosen, scope, event.target.value as Duration)}
              >
                {Object.entries(durationNames).map(([name, text]) => (
                  <option key={name} value={name}>
                    {text}
                  </option>
                ))}
              </select>
            </label>
          </div>
          {conditions.length > 0 && (
            <fieldset className="mt-3">
              <legend className="text-sm text-soft">Only if</legend>
              {conditions.map(({ name, text }) => (
                <label key={name} className="flex items-center gap-2">
                  <input type="checkbox" checked={chosen.has(name)} onChange={() => toggle(name)} />
                  <code className="any text-sm">{text}</code>
                </label>
              ))}
            </fieldset>
          )}
          <p className="any mt-3 rounded-md bg-sunk p-2 text-sm">
            This adds the rule: until {clockTime(Date.now() + durations[duration])}, calls of <code>{item.tool}</code>{' '}
            {scopes[scope]}
            {texts.length > 0 && (
              <>
                {' with '}
                <code>{texts.join(' and ')}</code>
              </>
            )}{' '}
            run without asking. Anyone who may decide can revoke it.
          </p>
        </>
      )}
    </div>
  )
}
