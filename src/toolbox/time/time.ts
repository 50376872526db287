// toolbox.time(): the current time, which a model does not know by itself.

import type { Tool } from '../../tools/tool.ts'
import { getCurrentTime } from './get-current-time.ts'

export const time = (): Tool[] => [getCurrentTime]
