// What people are asked by a body that waits for them inside, or about a call that it made, or by an agent that it lets work: its call waits for them too.

import type { AskItem } from '../store/records/approval-request.ts'
import type { CallOptions, CallRecord } from '../store/records/call-record.ts'
import { atWork, parentName, type ParentRow, workingName } from '../store/records/conversation.ts'
import { frame } from '../core/ids.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Store } from '../store/store.ts'
import { inBackground } from './is-background.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

/** An item of the inbox. */
export interface Asking {
  readonly id: string
  readonly item: AskItem
}

/** One look at what people are asked: what several calls need to know of a session is read once. */
export class PendingAsks {
  readonly #store: Store
  readonly #items = new Map<string, Promise<Asking[]>>()
  readonly #agents = new Map<string, Promise<Scope[]>>()

  constructor(store: Store) {
    this.#store = store
  }

  async of({
    uid,
    position: { tenant, session },
    state,
  }: Pick<CallRecord, 'uid' | 'position' | 'state'>): Promise<Asking | null> {
    return state === 'running' ? this.#asked({ tenant, session }, uid) : null
  }

  /** `call`: only what belongs to it; null for all that the agent of the session waits for. */
  async #asked(of: Scope, call: string | null): Promise<Asking | null> {
    for (const asking of await once(this.#items, of, () => this.#itemsOf(of))) {
      const { item } = asking
      const belongs =
        call === null
          ? !(await inBackground(this.#store, of, item.call))
          : item.call === call || item.under.includes(call)
      if (belongs) return asking
    }
    for (const agent of await once(this.#agents, of, () => this.#agentsOf(of))) {
      const found = (await this.#worksFor(of, agent, call)) ? await this.#asked(agent, null) : null
      if (found) return found
    }
    return null
  }

  async #itemsOf(of: Scope): Promise<Asking[]> {
    const found: Asking[] = []
    for await (const { key, value } of iterateDocuments(this.#store, { of: 'inbox', ...of }))
      found.push({ id: key, item: JSON.parse(value) as AskItem })
    return found
  }

  async #agentsOf(of: Scope): Promise<Scope[]> {
    const found: Scope[] = []
    for await (const { key, value } of iterateDocuments(this.#store, { of: workingName(of, '').of, ...of }))
      if (value === atWork) found.push({ tenant: of.tenant, session: key })
    return found
  }

  /** Whether an agent works for a call, or for one that it made; null: for anything that does not go on by itself. */
  async #worksFor(of: Scope, agent: Scope, call: string | null): Promise<boolean> {
    const kept = await this.#store.document(parentName(agent))
    const parent = kept && (JSON.parse(kept.value) as ParentRow).call
    if (parent === undefined || parent === call) return parent === call
    if (call === null) return !(await inBackground(this.#store, of, parent))
    const options = (await this.#store.call(parent))?.options ?? null
    const { root, above = [] } = options === null ? {} : (JSON.parse(options) as CallOptions)
    return root === call || above.includes(call)
  }
}

function once<T>(known: Map<string, Promise<T>>, { tenant, session }: Scope, read: () => Promise<T>): Promise<T> {
  const name = frame(tenant, session)
  const found = known.get(name) ?? read()
  known.set(name, found)
  return found
}
