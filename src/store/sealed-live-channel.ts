// Seals the live events that pass through the store's channel. Used by encrypted-store.ts.

import { lengthPrefixed } from '../core/ids.ts'
import type { Scope } from '../core/scope.ts'
import { type FieldLocation, isUnreadable, type Seal } from '../security/seal.ts'
import type { LiveChannel } from './live-channel.ts'

/** Entries are always sealed: they pass through a file or table of their own. */
export function sealedChannel(live: LiveChannel, seal: Seal): LiveChannel {
  const field = ({ tenant, session }: Scope): FieldLocation => ({
    record: lengthPrefixed('live', tenant, session),
    field: 'entry',
  })
  return {
    hasReaders: (of) => live.hasReaders(of),
    publish: (of, entry) => live.publish(of, seal.text(entry, field(of))),
    subscribe: (of, onEntry) =>
      live.subscribe(of, (sealed, from) => {
        let entry: string
        try {
          entry = seal.openText(sealed, field(from))
        } catch (error) {
          if (isUnreadable(error)) return // a process with another key wrote it
          throw error
        }
        onEntry(entry, from)
      }),
    onSubscribed: (listener) => live.onSubscribed(listener),
    flush: () => live.flush(),
    catchUp: () => live.catchUp(),
    close: () => live.close(),
  }
}
