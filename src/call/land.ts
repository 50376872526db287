// A parked call whose answer came re-enters here, after the body, on whatever worker claimed it.

import type { Driven } from '../engine/engine.ts'
import type { Resolution } from '../journal/call-state.ts'
import { outcomeOf } from '../wait/resolution.ts'

export const land = (resolution: Resolution): Driven => ({ settle: outcomeOf(resolution) })
