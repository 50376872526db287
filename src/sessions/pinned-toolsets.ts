// The toolsets that open batches began with (TOOL-4). A batch sees the tools that stood when it began in this process, whatever is added,
// removed or replaced meanwhile, and what it calls in turn sees the same. Costs nothing until something changes.

import type { CallPosition } from '../store/records/call-record.ts'
import { frame } from '../core/ids.ts'
import type { Toolset } from '../tools/toolset.ts'

export interface OpenBatch {
  readonly tools: Toolset
  readonly tenant: string
  readonly session: string
  readonly calls: readonly { readonly position: CallPosition; readonly tool: string }[]
}

const placeOf = (p: CallPosition): string => frame(p.tenant, p.session, p.batch, p.id, p.occurrence)

export class PinnedToolsets {
  readonly #live: (tenant: string, session: string) => Toolset
  readonly #open = new Set<OpenBatch>()
  /** By place of the call: the batches whose toolset is not the one that stands now. */
  readonly #older = new Map<string, OpenBatch>()

  constructor(live: (tenant: string, session: string) => Toolset) {
    this.#live = live
  }

  began(batch: OpenBatch): void {
    this.#open.add(batch)
    this.#keep(batch)
  }

  over(batch: OpenBatch): void {
    this.#open.delete(batch)
    if (this.#older.size === 0) return
    for (const { position } of batch.calls) {
      const place = placeOf(position)
      if (this.#older.get(place) === batch) this.#older.delete(place)
    }
  }

  /** The live tools are others now. */
  changed(): void {
    for (const batch of this.#open) this.#keep(batch)
  }

  /** What a call sees, and what is called under it. */
  of(call: { readonly position: CallPosition; readonly tool: string }): Toolset {
    const { tenant, session } = call.position
    const live = this.#live(tenant, session)
    if (this.#older.size === 0) return live
    const own = this.#older.get(placeOf(call.position))
    if (own) return own.tools
    // Claimed while some batch here still has a tool that is gone: this worker has it until that batch is over.
    if (live.recorded(call.tool)) return live
    for (const { tools } of this.#older.values()) if (tools.recorded(call.tool)) return tools
    return live
  }

  /** What records call the tools that are gone and still needed: a parked call of theirs must find its way back. */
  get keys(): readonly string[] {
    return [...new Set(this.#older.values())].flatMap(({ calls, tools }) =>
      calls.flatMap(({ tool }) => (tools.recorded(tool) ? tool : [])),
    )
  }

  #keep(batch: OpenBatch): void {
    if (batch.tools === this.#live(batch.tenant, batch.session)) return
    for (const { position } of batch.calls) {
      const place = placeOf(position)
      // Who came first drives the call; a batch that joins it has no say.
      if (!this.#older.has(place)) this.#older.set(place, batch)
    }
  }
}
