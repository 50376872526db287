// All attacks on approvals. Each is data: its name, what of it may run, and how it goes, through whatever door.

import type { Attack } from './door.ts'
import { bound } from './attacks/bound.ts'
import { moments } from './attacks/moments.ts'
import { people } from './attacks/people.ts'
import { rules } from './attacks/rules.ts'
import { words } from './attacks/words.ts'

export const attacks: readonly Attack[] = [...bound, ...people, ...moments, ...rules, ...words]
