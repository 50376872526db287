// Rules that people created when they decided. Rules expire and can be revoked.

import { checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import type { Vote } from '../store/records/approval-request.ts'
import { eventOf } from '../store/records/event.ts'
import { PawlError } from '../core/errors.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { Scope } from '../core/scope.ts'
import { defined } from '../core/tool-value.ts'
import type { RememberedRule } from '../policy/match-remembered-rules.ts'
import type { StoredDocument, Store } from '../store/store.ts'
import { isPerson } from './decision-input.ts'
import { collections } from '../store/collections.ts'

/** Rules that people made when they decided ("do not ask again"). */
export interface RememberedRules {
  /** Rules that apply in a session, or all rules of the tenant. `all` includes revoked and expired rules. */
  list(of: { readonly tenant: string; readonly session?: string; readonly all?: boolean }): Promise<RememberedRule[]>
  /** The rule no longer applies. Returns false if it does not exist or was already revoked. */
  revoke(
    id: string,
    by: { readonly by: string; readonly tenant: string; readonly door?: string; readonly reason?: string },
  ): Promise<boolean>
}

const parseRule = ({ value }: StoredDocument): RememberedRule => collections.rule.parse(value) as RememberedRule

async function readRules(store: Store, of: { tenant: string; session?: string }): Promise<StoredDocument[]> {
  const found: StoredDocument[] = []
  for await (const document of collections.rule.iterate(store, of)) found.push(document)
  return found
}

/** Rules that apply in a session: its own and those of its tenant. */
export async function rulesFor(store: Store, { tenant, session }: Scope): Promise<readonly RememberedRule[]> {
  const [own, shared] = await Promise.all([
    readRules(store, { tenant, session }),
    readRules(store, { tenant, session: '' }),
  ])
  return [...own, ...shared].map(parseRule)
}

export const listRulesOptions = {
  tenant: option.required(option.string),
  session: option.string,
  all: option.boolean,
} satisfies OptionTable<Parameters<RememberedRules['list']>[0]>

export const revokeOptions = {
  by: option.anything,
  tenant: option.required(option.string),
  door: option.string,
  reason: option.string,
} satisfies OptionTable<Parameters<RememberedRules['revoke']>[1]>

type RulesHost = Pick<Foundation, 'store' | 'clock' | 'redact' | 'knownSecrets'>

export function openRememberedRules({ store, clock, redact, knownSecrets }: RulesHost): RememberedRules {
  /** Patterns and reasons may contain a secret of the session in which the rule was made. */
  const redacted = async (rule: RememberedRule): Promise<RememberedRule> => {
    await knownSecrets.ensure({ tenant: rule.tenant, session: rule.madeIn })
    const { when, votes, reason, revoked } = rule
    return redact.active ? { ...rule, ...redact.deep({ votes, ...defined({ when, reason, revoked }) }) } : rule
  }
  return {
    async list(of) {
      checkRequiredOptions(of, listRulesOptions, 'rules.list()')
      const { tenant, session, all = false } = of
      const rules =
        session === undefined
          ? (await readRules(store, { tenant })).map(parseRule)
          : await rulesFor(store, { tenant, session })
      const now = clock.now()
      const listed = rules
        .filter((rule) => all || (!rule.revoked && rule.until > now))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      return Promise.all(listed.map(redacted))
    },
    async revoke(id, how) {
      checkRequiredOptions(how, revokeOptions, 'rules.revoke()')
      const { by, tenant, door = 'library', reason } = how
      if (!isPerson(by))
        throw new PawlError(
          'config_invalid',
          '`by` must name the person who revokes the rule, as a string without surrounding whitespace.',
        )
      for (;;) {
        const document = (await readRules(store, { tenant })).find(({ key }) => key === id)
        const rule = document && parseRule(document)
        if (!document || !rule || rule.revoked) return false
        const revoked: Vote = { by, door, at: clock.now(), ...(reason === undefined ? {} : { reason }) }
        const { value: _, revision, ...name } = document
        const { ok } = await store.commit({
          guards: [{ kind: 'kept', ...name, revision }],
          documents: [{ ...name, value: JSON.stringify({ ...rule, revoked }) }],
          events: [
            eventOf({ tenant, session: rule.madeIn, call: rule.call }, 'rule.revoked', clock.now(), {
              rule: id,
              by,
              door,
            }),
          ],
        })
        if (ok) return true
      }
    },
  }
}
