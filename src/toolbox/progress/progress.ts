// box.progress(): a model that tells people how its work goes.

import type { Tool } from '../../tools/tool.ts'
import { reportProgress } from './report-progress.ts'

export const progress = (): Tool[] => [reportProgress]
