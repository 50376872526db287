// Documents of the memory store.

import { lengthPrefixed } from '../../core/ids.ts'
import type { StoredDocument, DocumentName, DocumentQuery, ScopeFilter, DocumentWrite } from '../store.ts'

const nameOf = ({ of, tenant, session, key }: DocumentName): string => lengthPrefixed(of, tenant, session, key)

export class MemoryDocuments {
  /** By collection, so that listing one does not scan the others. */
  readonly #collections = new Map<string, Map<string, StoredDocument>>()

  get(name: DocumentName): StoredDocument | undefined {
    return this.#collections.get(name.of)?.get(nameOf(name))
  }

  put({ of, tenant, session, key, value }: DocumentWrite): void {
    const name = { of, tenant, session, key }
    const documents = this.#collections.get(of) ?? new Map<string, StoredDocument>()
    this.#collections.set(of, documents)
    if (value === null) documents.delete(nameOf(name))
    else documents.set(nameOf(name), { ...name, revision: (documents.get(nameOf(name))?.revision ?? 0) + 1, value })
  }

  list({ of, tenant, session, after, limit, newest = false }: DocumentQuery): StoredDocument[] {
    return [...(this.#collections.get(of)?.values() ?? [])]
      .filter((each) => (newest && after !== '' ? each.key < after : each.key > after) && isIn(each, tenant, session))
      .toSorted((a, b) => (a.key < b.key === newest ? 1 : -1))
      .slice(0, limit)
  }

  has(of: string, { tenant, session }: ScopeFilter): boolean {
    for (const each of this.#collections.get(of)?.values() ?? []) if (isIn(each, tenant, session)) return true
    return false
  }

  erase({ tenant, session }: ScopeFilter): void {
    for (const documents of this.#collections.values())
      for (const [name, each] of documents) if (isIn(each, tenant, session)) documents.delete(name)
  }
}

const isIn = (document: StoredDocument, tenant: string | undefined, session: string | undefined): boolean =>
  (tenant === undefined || document.tenant === tenant) && (session === undefined || document.session === session)
