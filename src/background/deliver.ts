// Delivers an event to one who subscribed.

import type { Kept } from '../store/store.ts'
import type { Fired, FireHost } from './fire-schedule.ts'

export async function deliver(_host: FireHost, _due: Kept, _id: string): Promise<Fired> {
  return 'left'
}
