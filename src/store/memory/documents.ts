// What is kept by name, without a disk.

import { frame } from '../../core/ids.ts'
import type { Change, StoredDocument, DocumentName, DocumentQuery, Scope } from '../store.ts'

const nameOf = ({ of, tenant, session, key }: DocumentName): string => frame(of, tenant, session, key)

export class MemoryKept {
  /** By collection, so that a list costs nothing for the others. */
  readonly #collections = new Map<string, Map<string, StoredDocument>>()

  get(name: DocumentName): StoredDocument | undefined {
    return this.#collections.get(name.of)?.get(nameOf(name))
  }

  put({ of, tenant, session, key, value }: NonNullable<Change['documents']>[number]): void {
    const name = { of, tenant, session, key }
    const all = this.#collections.get(of) ?? new Map<string, StoredDocument>()
    this.#collections.set(of, all)
    if (value === null) all.delete(nameOf(name))
    else all.set(nameOf(name), { ...name, revision: (all.get(nameOf(name))?.revision ?? 0) + 1, value })
  }

  list({ of, tenant, session, after, limit, newest = false }: DocumentQuery): StoredDocument[] {
    return [...(this.#collections.get(of)?.values() ?? [])]
      .filter((each) => (newest && after !== '' ? each.key < after : each.key > after) && isIn(each, tenant, session))
      .toSorted((a, b) => (a.key < b.key === newest ? 1 : -1))
      .slice(0, limit)
  }

  has(of: string, { tenant, session }: Scope): boolean {
    for (const each of this.#collections.get(of)?.values() ?? []) if (isIn(each, tenant, session)) return true
    return false
  }

  erase({ tenant, session }: Scope): void {
    for (const all of this.#collections.values())
      for (const [name, each] of all) if (isIn(each, tenant, session)) all.delete(name)
  }
}

const isIn = (each: StoredDocument, tenant: string | undefined, session: string | undefined): boolean =>
  (tenant === undefined || each.tenant === tenant) && (session === undefined || each.session === session)
