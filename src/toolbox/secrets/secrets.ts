// toolbox.secrets(): the model stores secrets and passes them to tools by reference with secret_store.

import type { Tool } from '../../tools/tool.ts'
import { secretStore, type SecretToolOptions } from './secret-store-tool.ts'

export type { SecretToolOptions } from './secret-store-tool.ts'

/** Throws `config_invalid` for invalid options. */
export const secretTools = (options: SecretToolOptions = {}): Tool[] => [secretStore(options)]
