// All scenarios of the golden journals, by the file that their journals are in.

import type { Scenario } from './scenario.ts'
import { admission } from './scenarios/admission.ts'
import { attempts } from './scenarios/attempts.ts'
import { people } from './scenarios/people.ts'
import { recovery } from './scenarios/recovery.ts'
import { waits } from './scenarios/waits.ts'

export const groups: Readonly<Record<string, Readonly<Record<string, Scenario>>>> = { admission, attempts, waits, people, recovery }
