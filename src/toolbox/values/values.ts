// The model keeps values for later in the session: kv_store.

import type { Tool } from '../../tools/tool.ts'
import { kvStore } from './kv-store.ts'

export const valueTools = (): Tool[] => [kvStore]
