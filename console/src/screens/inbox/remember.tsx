// "From now on": the rule that an approval adds, in the words that the person confirms.

import { Fragment, type ReactNode, useState } from 'react'
import { isRecord } from '../../forms/schema.ts'
import { serverNow } from '../../api/server-clock.ts'
import { shown } from '../../ui/shown.ts'
import { clockTime } from '../../ui/time.tsx'
import { LongText } from '../../ui/values.tsx'
import { conditionText } from '../policy/condition-text.ts'
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

/** A number at most as large, or an equal value. */
type Operator = 'lte' | 'eq'
const operatorNames: Readonly<Record<Operator, string>> = { lte: 'at most', eq: 'exactly' }

/** By the name of the argument. An argument without an operator may be anything. */
type Operators = ReadonlyMap<string, Operator>

/** Why no condition on the argument would be kept, or match. */
function problemOf(name: string, value: unknown): string | null {
  if (/\[(redacted|hidden)\]/.test(JSON.stringify([name, value]))) return 'a part of it is hidden'
  // A dot or a bracket would select a field inside, and the server drops `__proto__`.
  return /^[^.[\]]+$/.test(name) && name !== '__proto__' ? null : 'of its name'
}

/** Amounts have an upper limit. Of an id, and below zero, a smaller number is not a safer one. */
const firstOperator = ([name, value]: readonly [string, unknown]): Operator =>
  typeof value === 'number' && value >= 0 && !/id$/i.test(name) ? 'lte' : 'eq'

const maxShown = 100

function labelOf(name: string, operator: Operator, value: unknown): string {
  const text = conditionText({ [name]: { [operator]: value } })
  return shown(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text)
}

interface RememberProps {
  readonly item: Item
  readonly rule: Rule | null
  readonly onChange: (rule: Rule | null) => void
}

export function Remember({ item, rule, onChange }: RememberProps): ReactNode {
  const args = Object.entries(isRecord(item.args) ? item.args : {})
  const possible = args.filter(([name, value]) => problemOf(name, value) === null)
  const [operators, setOperators] = useState<Operators>(new Map(possible.map((each) => [each[0], firstOperator(each)])))
  const [scope, setScope] = useState<Scope>('session')
  const [duration, setDuration] = useState<Duration>('1d')
  const make = (of: Operators, scope: Scope, duration: Duration): Rule => {
    const when = Object.fromEntries(
      possible.flatMap(([name, value]) => {
        const operator = of.get(name)
        return operator ? [[name, { [operator]: value }]] : []
      }),
    )
    return { scope, for: duration, ...(Object.keys(when).length === 0 ? {} : { when }) }
  }
  const change = (next = operators, nextScope = scope, nextDuration = duration): void => {
    setOperators(next)
    setScope(nextScope)
    setDuration(nextDuration)
    onChange(make(next, nextScope, nextDuration))
  }
  const choose = (name: string, operator: Operator | null): void => {
    const next = new Map(operators)
    if (operator) next.set(name, operator)
    else next.delete(name)
    change(next)
  }
  const free = args.map(([name]) => name).filter((name) => !operators.has(name))
  return (
    <div className="mb-4 rounded-md border border-line p-3">
      <label className="flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          checked={rule !== null}
          onChange={(event) => onChange(event.target.checked ? make(operators, scope, duration) : null)}
        />
        From now on, approve such calls without asking
      </label>
      {rule !== null && (
        <>
          <div className="mt-3 grid gap-3 sm:grid-cols-2">
            <label>
              <span className="text-sm text-soft">Calls</span>
              <select
                className="field"
                value={scope}
                onChange={(event) => change(operators, event.target.value as Scope)}
              >
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
                onChange={(event) => change(operators, scope, event.target.value as Duration)}
              >
                {Object.entries(durationNames).map(([name, text]) => (
                  <option key={name} value={name}>
                    {text}
                  </option>
                ))}
              </select>
            </label>
          </div>
          {args.length > 0 && (
            <fieldset className="mt-3">
              <legend className="text-sm text-soft">Only if</legend>
              {args.map(([name, value]) => {
                const operator = operators.get(name)
                const problem = problemOf(name, value)
                if (problem !== null)
                  return (
                    <p key={name} className="any text-sm">
                      <code>{shown(name)}</code> cannot be a condition, because {problem}.
                    </p>
                  )
                return (
                  <div key={name} className="flex flex-wrap items-center gap-x-4">
                    <label className="flex items-center gap-2">
                      <input
                        type="checkbox"
                        checked={operator !== undefined}
                        onChange={() => choose(name, operator ? null : firstOperator([name, value]))}
                      />
                      <code className="any text-sm">
                        {labelOf(name, operator ?? firstOperator([name, value]), value)}
                      </code>
                    </label>
                    {typeof value === 'number' && operator && (
                      <select
                        className="field w-auto text-sm"
                        aria-label={`How ${shown(name)} is compared`}
                        value={operator}
                        onChange={({ target }) => choose(name, target.value as Operator)}
                      >
                        {Object.entries(operatorNames).map(([each, text]) => (
                          <option key={each} value={each}>
                            {text}
                          </option>
                        ))}
                      </select>
                    )}
                  </div>
                )
              })}
            </fieldset>
          )}
          <p className="any mt-3 max-h-60 overflow-y-auto rounded-md bg-sunk p-2 text-sm" tabIndex={0}>
            This adds the rule: until {clockTime(serverNow() + durations[duration])}, calls of{' '}
            <code>{shown(item.tool)}</code> {scopes[scope]}
            {rule.when && (
              <>
                {' with '}
                <code>
                  <LongText text={conditionText(rule.when)} label="the conditions" />
                </code>
              </>
            )}{' '}
            run without asking.{' '}
            {free.length > 0 && (
              <>
                {free.map((name, index) => (
                  <Fragment key={name}>
                    {index > 0 && ', '}
                    <code>{shown(name)}</code>
                  </Fragment>
                ))}{' '}
                may be anything.{' '}
              </>
            )}
            Arguments that this call does not have may be anything{free.length > 0 && ' too'}. Anyone who may decide can
            revoke it.
          </p>
        </>
      )}
    </div>
  )
}
