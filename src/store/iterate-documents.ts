// All that is kept in a collection, page by page: what is looked through costs what there is, and nobody holds it all at once.

import type { StoredDocument, DocumentQuery, Store } from './store.ts'

const pageOf = 200

export async function* iterateDocuments(
  store: Pick<Store, 'documentsOf'>,
  query: Omit<DocumentQuery, 'after' | 'limit'>,
  from = '',
): AsyncGenerator<StoredDocument, void> {
  for (let after = from; ;) {
    const page = await store.documentsOf({ ...query, after, limit: pageOf })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < pageOf) return
    after = last.key
  }
}
