// Iterates over all documents of a collection page by page, so that they are never all in memory at once.

import type { StoredDocument, DocumentQuery, Store } from './store.ts'

const pageSize = 200

export async function* iterateDocuments(
  store: Pick<Store, 'documentsOf'>,
  query: Omit<DocumentQuery, 'after' | 'limit'>,
  from = '',
): AsyncGenerator<StoredDocument, void> {
  for (let after = from; ;) {
    const page = await store.documentsOf({ ...query, after, limit: pageSize })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < pageSize) return
    after = last.key
  }
}
