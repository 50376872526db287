// All that is kept in a collection, page by page: what is looked through costs what there is, and nobody holds it all at once.

import type { Kept, KeptQuery, Store } from './store.ts'

const pageOf = 200

export async function* everyKept(
  store: Pick<Store, 'keptOf'>,
  query: Omit<KeptQuery, 'after' | 'limit'>,
  from = '',
): AsyncGenerator<Kept, void> {
  for (let after = from; ;) {
    const page = await store.keptOf({ ...query, after, limit: pageOf })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < pageOf) return
    after = last.key
  }
}
