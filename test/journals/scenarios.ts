// All scenarios of the golden journals, grouped by golden file.

import type { Scenario } from './scenario.ts'
import { admission } from './scenarios/admission.ts'
import { attempts } from './scenarios/attempts.ts'
import { people } from './scenarios/people.ts'
import { recovery } from './scenarios/recovery.ts'
import { schedules } from './scenarios/schedules.ts'
import { storage } from './scenarios/storage.ts'
import { tasks } from './scenarios/tasks.ts'
import { turns } from './scenarios/turns.ts'
import { waits } from './scenarios/waits.ts'

type Groups = Readonly<Record<string, Readonly<Record<string, Scenario>>>>
export const groups: Groups = { admission, attempts, waits, people, recovery, tasks, schedules, turns, storage }
