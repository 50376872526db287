// The toolsets that open batches started with. A batch and its nested calls keep the tools that were registered when it
// started in this process, whatever is added, removed or replaced later. There is no overhead until the toolset
// changes.

import type { CallPosition } from '../store/records/call-record.ts'
import { lengthPrefixed } from '../core/ids.ts'
import type { Registry } from './registry.ts'
import type { Toolset } from './toolset.ts'

export interface OpenBatch {
  readonly tools: Toolset
  readonly tenant: string
  readonly session: string
  readonly calls: readonly { readonly position: CallPosition; readonly tool: string }[]
}

const positionKey = (p: CallPosition): string => lengthPrefixed(p.tenant, p.session, p.batch, p.id, p.occurrence)

export class PinnedToolsets {
  readonly #registry: Pick<Registry, 'toolsetFor'>
  readonly #open = new Set<OpenBatch>()
  /** By position of the call: batches whose toolset is no longer the current one. */
  readonly #pinned = new Map<string, OpenBatch>()

  constructor(registry: Pick<Registry, 'toolsetFor'>) {
    this.#registry = registry
  }

  add(batch: OpenBatch): void {
    this.#open.add(batch)
    this.#pin(batch)
  }

  remove(batch: OpenBatch): void {
    this.#open.delete(batch)
    if (this.#pinned.size === 0) return
    for (const { position } of batch.calls) {
      const key = positionKey(position)
      if (this.#pinned.get(key) === batch) this.#pinned.delete(key)
    }
  }

  /** Called when the current toolset has changed. */
  refresh(): void {
    for (const batch of this.#open) this.#pin(batch)
  }

  /** The toolset of a call and of its nested calls. */
  toolsetFor(call: { readonly position: CallPosition; readonly tool: string }): Toolset {
    const { tenant, session } = call.position
    const current = this.#registry.toolsetFor(tenant, session)
    if (this.#pinned.size === 0) return current
    const pinned = this.#pinned.get(positionKey(call.position))
    if (pinned) return pinned.tools
    // The tool is gone but an open batch still pins it: this worker can run the call until that batch ends.
    if (current.findByKey(call.tool)) return current
    for (const { tools } of this.#pinned.values()) if (tools.findByKey(call.tool)) return tools
    return current
  }

  /** Record keys of removed tools that are still pinned, so that this worker can claim their parked calls. */
  get toolKeys(): readonly string[] {
    return [...new Set(this.#pinned.values())].flatMap(({ calls, tools }) =>
      calls.flatMap(({ tool }) => (tools.findByKey(tool) ? tool : [])),
    )
  }

  #pin(batch: OpenBatch): void {
    if (batch.tools === this.#registry.toolsetFor(batch.tenant, batch.session)) return
    for (const { position } of batch.calls) {
      const key = positionKey(position)
      // The first batch determines the toolset; a batch that joins the call does not change it.
      if (!this.#pinned.has(key)) this.#pinned.set(key, batch)
    }
  }
}
