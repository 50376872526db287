// A document collection: builds names and rows of its documents, reads and parses them. collections.ts declares all.

import type { Scope } from '../core/scope.ts'
import type { DocumentName, Store, StoredDocument, DocumentWrite } from './store.ts'

export interface CollectionTerms {
  /** The owner of a document; `any`: a session or the whole tenant. */
  readonly scope: 'session' | 'tenant' | 'any' | 'store'
  /**
   * `session`, `tenant`: erasing its owner. `prune`: retention. `end`: its feature, once it is used, removed or
   * replaced.
   */
  readonly erasedBy: readonly ('session' | 'tenant' | 'prune' | 'end')[]
  /** Sealed at rest even if the store is not: always, or if the tool or call it is about is sensitive. */
  readonly sealed?: 'always' | 'sensitive'
}

/** Documents are read in pages, so that a collection is never in memory as a whole. */
const pageSize = 200

/** The row that deletes this document. */
export const deletionOf = ({ of, tenant, session, key }: DocumentName): DocumentWrite => ({
  of,
  tenant,
  session,
  key,
  value: null,
})

/** `T`: the value; `never` if it is plain text and not JSON. `K`: the parts of the key. */
export class Collection<T, K extends readonly unknown[] = [id: string]> {
  /** The persisted name. */
  readonly of: string
  readonly terms: CollectionTerms
  readonly #key: (...parts: K) => string

  constructor(of: string, terms: CollectionTerms, key: (...parts: K) => string) {
    this.of = of
    this.terms = terms
    this.#key = key
  }

  name({ tenant, session }: Scope, ...key: K): DocumentName {
    return { of: this.of, tenant, session, key: this.#key(...key) }
  }

  parse(text: string): T {
    return JSON.parse(text) as T
  }

  async read(store: Pick<Store, 'document'>, of: Scope, ...key: K): Promise<T | undefined> {
    const document = await store.document(this.name(of, ...key))
    return document && this.parse(document.value)
  }

  /** The row that creates or replaces a document. */
  write(value: T, of: Scope, ...key: K): DocumentName & { readonly value: string } {
    return { ...this.name(of, ...key), value: JSON.stringify(value) }
  }

  /** The row that deletes a document. */
  remove(of: Scope, ...key: K): DocumentWrite {
    return { ...this.name(of, ...key), value: null }
  }

  /** Pages of at most `limit` documents after the key `from`. Without a session or tenant: documents of all of them. */
  async *pages(
    store: Pick<Store, 'documentsOf'>,
    of: Partial<Scope>,
    limit = pageSize,
    from = '',
  ): AsyncGenerator<StoredDocument[], void> {
    for (let after = from; ;) {
      const page = await store.documentsOf({ ...of, of: this.of, after, limit })
      yield page
      const last = page.at(-1)
      if (!last || page.length < limit) return
      after = last.key
    }
  }

  async *iterate(
    store: Pick<Store, 'documentsOf'>,
    of: Partial<Scope>,
    from = '',
  ): AsyncGenerator<StoredDocument, void> {
    for await (const page of this.pages(store, of, pageSize, from)) yield* page
  }

  /** Documents whose key begins with the prefix. `from`: only those after this key. */
  async *startingWith(
    store: Pick<Store, 'documentsOf'>,
    of: Partial<Scope>,
    prefix: string,
    from = prefix,
  ): AsyncGenerator<StoredDocument, void> {
    for await (const document of this.iterate(store, of, from)) {
      if (!document.key.startsWith(prefix)) return
      yield document
    }
  }
}
