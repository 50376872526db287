// Finds the inbox item that a running call waits for: its own, one of a nested call, or one of an agent that works for
// it. Used to report the call as awaiting input.

import type { AskItem } from '../store/records/approval-request.ts'
import { type CallRecord, parseCallOptions } from '../store/records/call-record.ts'
import { agentWorking } from '../store/records/conversation.ts'
import { lengthPrefixed } from '../core/ids.ts'
import type { Scope } from '../core/scope.ts'
import type { Store } from '../store/store.ts'
import { isInBackground } from './is-background.ts'
import { collections } from '../store/collections.ts'

/** An item of the inbox. */
export interface InboxEntry {
  readonly id: string
  readonly item: AskItem
}

/** Reads the inbox and the working agents of each session once and shares them between calls; use one per listing. */
export class PendingAsks {
  readonly #store: Store
  readonly #items = new Map<string, Promise<InboxEntry[]>>()
  readonly #agents = new Map<string, Promise<Scope[]>>()

  constructor(store: Store) {
    this.#store = store
  }

  async of({
    uid,
    position: { tenant, session },
    state,
  }: Pick<CallRecord, 'uid' | 'position' | 'state'>): Promise<InboxEntry | null> {
    return state === 'running' ? this.#findAsk({ tenant, session }, uid) : null
  }

  /** `call`: only items of this call; null: any item that keeps the agent of the session waiting. */
  async #findAsk(of: Scope, call: string | null): Promise<InboxEntry | null> {
    for (const entry of await memoize(this.#items, of, () => this.#itemsOf(of))) {
      const { item } = entry
      const belongs =
        call === null
          ? !(await isInBackground(this.#store, of, item.call))
          : item.call === call || item.under.includes(call)
      if (belongs) return entry
    }
    for (const agent of await memoize(this.#agents, of, () => this.#agentsOf(of))) {
      const found = (await this.#worksFor(of, agent, call)) ? await this.#findAsk(agent, null) : null
      if (found) return found
    }
    return null
  }

  async #itemsOf(of: Scope): Promise<InboxEntry[]> {
    const found: InboxEntry[] = []
    for await (const { key, value } of collections.inbox.iterate(this.#store, of))
      found.push({ id: key, item: collections.inbox.parse(value) })
    return found
  }

  async #agentsOf(of: Scope): Promise<Scope[]> {
    const found: Scope[] = []
    for await (const { key, value } of collections.sessionWorking.iterate(this.#store, of))
      if (value === agentWorking) found.push({ tenant: of.tenant, session: key })
    return found
  }

  /**
   * True if the agent was started by `call` or by one of its nested calls. With null: by any call that is not in the
   * background.
   */
  async #worksFor(of: Scope, agent: Scope, call: string | null): Promise<boolean> {
    const stored = await this.#store.document(collections.sessionParent.name(agent))
    const parent = stored && collections.sessionParent.parse(stored.value).call
    if (parent === undefined || parent === call) return parent === call
    if (call === null) return !(await isInBackground(this.#store, of, parent))
    const options = (await this.#store.call(parent))?.options ?? null
    const { root, above = [] } = parseCallOptions(options)
    return root === call || above.includes(call)
  }
}

function memoize<T>(known: Map<string, Promise<T>>, { tenant, session }: Scope, read: () => Promise<T>): Promise<T> {
  const name = lengthPrefixed(tenant, session)
  const found = known.get(name) ?? read()
  known.set(name, found)
  return found
}
