// The model keeps secrets and hands them to tools by reference, without reading them: secret_store.

import type { Tool } from '../../tools/tool.ts'
import { secretStore, type SecretToolOptions } from './secret-store.ts'

export type { SecretToolOptions } from './secret-store.ts'

/** Throws config_invalid. */
export const secretTools = (options: SecretToolOptions = {}): Tool[] => [secretStore(options)]
