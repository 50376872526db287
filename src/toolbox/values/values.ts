// toolbox.values(): the model stores values in the session with kv_store.

import type { Tool } from '../../tools/tool.ts'
import { kvStore } from './kv-store-tool.ts'

export const valueTools = (): Tool[] => [kvStore]
