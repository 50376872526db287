// toolbox.progress(): the model reports its progress to people.

import type { Tool } from '../../tools/tool.ts'
import { reportProgress } from './report-progress.ts'

export const progress = (): Tool[] => [reportProgress]
