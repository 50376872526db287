// All attacks on approvals as data: a name, the calls that may run, and a script that runs through any door.

import type { Attack } from './attack-interface.ts'
import { bound } from './binding-attacks.ts'
import { moments } from './timing-attacks.ts'
import { people } from './approver-attacks.ts'
import { rules } from './remembered-rule-attacks.ts'
import { words } from './forged-decision-attacks.ts'

export const attacks: readonly Attack[] = [...bound, ...people, ...moments, ...rules, ...words]
