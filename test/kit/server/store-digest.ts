// A digest of everything that a store holds, to show that a request changed nothing.

import { hash } from 'node:crypto'
import { collections } from '../../../src/store/collections.ts'
import type { Store, StoredDocument } from '../../../src/store/store.ts'

const names = [...new Set(Object.values(collections).map(({ of }) => of))]
const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(value))

async function documents(store: Store): Promise<StoredDocument[]> {
  const all: StoredDocument[] = []
  for (const of of names) all.push(...(await store.documentsOf({ of, after: '', limit: 1_000_000 })))
  return all
}

/** Events, documents and open calls. */
export async function storeDigest(store: Store): Promise<string> {
  const open = await store.unsettled({ after: '', limit: 1_000_000 })
  return digestOf([await store.lastPosition(), await documents(store), open.map(({ uid }) => uid)])
}

/** Events, documents and open calls of one tenant. */
export async function tenantDigest(store: Store, tenant: string): Promise<string> {
  const events = (await store.events({ after: 0, limit: 1_000_000 })).filter((event) => event.tenant === tenant)
  const open = await store.unsettled({ after: '', limit: 1_000_000, of: { tenant } })
  const rows = (await documents(store)).filter((row) => row.tenant === tenant)
  return digestOf([events, rows, open.map(({ uid }) => uid)])
}

/** The digest once work that was started before is over: nothing changes for 50 ms. */
export async function stableDigest(store: Store): Promise<string> {
  for (let last = ''; ;) {
    const now = await storeDigest(store)
    if (now === last) return now
    last = now
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
