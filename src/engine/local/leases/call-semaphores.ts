// The places of one call in the fleet, on record with it. Whatever ends its running gives them back in the same write (leased-call.ts).

import type { CallOptions } from '../../../store/records/call-record.ts'
import type { Take } from '../../../store/store.ts'
import type { FleetPlace, NoRoom, PlacesOfCall } from '../../engine.ts'
import type { LeasedCall } from './leased-call.ts'

export class CallSemaphores implements PlacesOfCall {
  readonly #held: LeasedCall
  readonly #options: CallOptions

  constructor(held: LeasedCall, options: CallOptions) {
    this.#held = held
    this.#options = options
  }

  leave(): void {
    const held = this.#held
    if (held.mayHavePlaces && !(held.stopped && 'over' in held.stopped))
      held.ride(held.held({ ...held.giving(), events: [] }))
  }

  async take(places: readonly FleetPlace[]): Promise<void> {
    await this.#held.write(this.#held.held({ take: this.taking(places), events: [] }))
  }

  async awaitRoom(places: readonly FleetPlace[], lacks: NoRoom, signal: AbortSignal): Promise<void> {
    const held = this.#held
    const take = this.taking(places)
    await held.write(held.held({ line: { holder: take.holder, worker: take.worker, name: lacks.place }, events: [] }))
    // Room under this name is enough to ask again: if another name lacks it then, it stands in line there instead.
    const lacking = take.places.filter(({ name }) => name === lacks.place)
    await held.host.places.awaitRoom({ ...take, places: lacking }, signal)
  }

  /** As it goes with a write. */
  taking(places: readonly FleetPlace[]): Take {
    const held = this.#held
    held.mayHavePlaces = true
    const { uid: holder } = held.request
    const { root, above = [] } = this.#options
    const entry = `${holder}#${held.progress.attempt}`
    const taken = places.map(({ name, capacity, lastsMs: ms }) => ({
      name,
      capacity,
      ...(ms && { lasts: { ms, entry } }),
    }))
    const own = { holder, worker: held.host.lease.worker, places: taken }
    return root === undefined ? own : { ...own, above: [root, ...above] }
  }
}
