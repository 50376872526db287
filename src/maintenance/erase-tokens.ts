// Deletes API tokens: those that are not valid any more, and those of an erased tenant. Tokens are stored for the whole
// store, because they are looked up before the tenant is known, so the erasure of a tenant does not reach them by
// itself. Called by retention.ts.

import { deletionOf } from '../store/collection.ts'
import { collections } from '../store/collections.ts'
import type { TokenRow } from '../store/records/access-token.ts'
import type { Store } from '../store/store.ts'

/** Tokens per transaction. */
const pageSize = 100

async function deleteTokens(store: Store, isDeleted: (token: TokenRow) => boolean): Promise<number> {
  let deleted = 0
  for await (const page of collections.token.pages(store, { tenant: '', session: '' }, pageSize)) {
    const documents = page.filter(({ value }) => isDeleted(collections.token.parse(value))).map(deletionOf)
    if (documents.length > 0) await store.commit({ guards: [], documents, events: [] })
    deleted += documents.length
  }
  return deleted
}

/** Deletes tokens that expired or were revoked before `before`. `tenant`: only those of it. */
export const pruneTokens = (store: Store, before: number, tenant: string | undefined): Promise<number> =>
  deleteTokens(
    store,
    ({ tenant: of, expiresAt, revokedAt }) =>
      (tenant === undefined || of === tenant) && Math.min(expiresAt ?? Infinity, revokedAt ?? Infinity) < before,
  )

/** Deletes the tokens that are limited to this tenant. */
export const eraseTokens = (store: Store, tenant: string): Promise<number> =>
  deleteTokens(store, (token) => token.tenant === tenant)
