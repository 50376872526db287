// Rules that people made when they decided (POL-3): listed, with an end, and revocable.

import type { Vote } from '../store/records/approval-request.ts'
import { eventOf } from '../store/records/event.ts'
import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { RememberedRule } from '../policy/match-remembered.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { StoredDocument, DocumentName, Store } from '../store/store.ts'
import { isPerson } from './decision-input.ts'

export const ruleName = (tenant: string, session: string, id: string): DocumentName => ({
  of: 'rule',
  tenant,
  session,
  key: id,
})

export interface RememberedRules {
  /** Those that hold in a session, or all of a tenant; revoked and ended ones too if asked for. */
  list(of: { readonly tenant: string; readonly session?: string; readonly all?: boolean }): Promise<RememberedRule[]>
  /** From now on it answers nothing. False if there is none such, or it was revoked before. */
  revoke(
    id: string,
    by: { readonly by: string; readonly tenant: string; readonly door?: string; readonly reason?: string },
  ): Promise<boolean>
}

const ruleIn = ({ value }: StoredDocument): RememberedRule => JSON.parse(value) as RememberedRule

async function allOf(store: Store, of: { tenant: string; session?: string }): Promise<StoredDocument[]> {
  const found: StoredDocument[] = []
  for await (const kept of iterateDocuments(store, { of: 'rule', ...of })) found.push(kept)
  return found
}

/** What answers in a session: its own, and those of its tenant. */
export async function rulesFor(
  store: Store,
  { tenant, session }: { tenant: string; session: string },
): Promise<readonly RememberedRule[]> {
  const [own, shared] = await Promise.all([allOf(store, { tenant, session }), allOf(store, { tenant, session: '' })])
  return [...own, ...shared].map(ruleIn)
}

export function rememberedRules(store: Store, clock: Clock): RememberedRules {
  return {
    async list({ tenant, session, all = false }) {
      const rules =
        session === undefined
          ? (await allOf(store, { tenant })).map(ruleIn)
          : await rulesFor(store, { tenant, session })
      const now = clock.now()
      return rules
        .filter((rule) => all || (!rule.revoked && rule.until > now))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
    async revoke(id, { by, tenant, door = 'library', reason }) {
      if (!isPerson(by))
        throw new PawlError('config_invalid', 'by must name who revokes the rule: a text without blanks around it.')
      for (;;) {
        const kept = (await allOf(store, { tenant })).find(({ key }) => key === id)
        const rule = kept && ruleIn(kept)
        if (!kept || !rule || rule.revoked) return false
        const revoked: Vote = { by, door, at: clock.now(), ...(reason === undefined ? {} : { reason }) }
        const { value: _, revision, ...name } = kept
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
